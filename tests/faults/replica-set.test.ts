import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Filter } from 'mongodb';
import { type Service, startService } from '../../infra/service.ts';
import { presentTicketItem } from '../../services/api/resources/tickets/presenter.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { type Generation, readRegistry } from '../../shared/control/generations.ts';
import { progressOf } from '../../shared/control/progress.ts';
import type { TicketDocument } from '../../shared/documents/ticket.ts';
import { generationDatabase } from '../../shared/store/connection.ts';
import { fold } from '../convergence/fold.ts';
import { doubled, randomHistory } from '../convergence/history.ts';
import { readDocuments } from '../convergence/read-documents.ts';
import { apiSettings } from '../support/api-process.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { describeOnMongo, startReplicaSet } from '../support/mongo-servers.ts';
import { logEnds, reached } from '../support/progress.ts';
import { createRandom } from '../support/random.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';
import { seed, shortSession } from './use-fault-servers.ts';

/** The maximum number of disturbances in one phase. Without a bound, a phase would never end on a slow machine. */
const roundsMax = 5;

/** The tickets of the first organization never change. The history has the tickets of the other two. */
const organizations = ['org_1', `org_${seed}_0`, `org_${seed}_1`];
const token = (orgId: string) => `svc_live_${orgId}_0123456789`;
const expiredEvents = [
  created('channel', 'chan_expiring', { dataRetentionDays: 1 }),
  created('conversation', 'conv_expired', { channelId: 'chan_expiring' }),
  ...Array.from({ length: 20 }, (_, index) =>
    created('message', `msg_expired${index}`, { conversationId: 'conv_expired' }),
  ),
];
/** Events of entities that the history does not touch. */
const quietEvents = [
  ...organizations.map((orgId, index) => {
    const tokenSha256 = createHash('sha256').update(token(orgId)).digest('hex').toUpperCase();
    return { ...created('apiKey', `key_quiet${index}`, { tokenSha256 }), orgId };
  }),
  created('contact', 'con_1'),
  ...Array.from({ length: 20 }, (_, index) => created('ticket', `ti_quiet${index}`)),
  ...expiredEvents,
];

/** The documents as the fold has them, without those that a sweep may remove at any time. */
const expectedDocuments = (events: Event[]) => withoutExpired(Object.fromEntries(fold(events)));
const withoutExpired = (documents: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(documents).filter(([id]) => !isExpired(id)));

/** The tickets of an organization as the API presents the fold. */
const expectedTickets = (events: Event[], orgId: string) =>
  [...fold(events).values()]
    .filter((document) => document.kind === 'ticket' && document.orgId === orgId)
    .map((document) => presentTicketItem(document as unknown as TicketDocument, new Date()))
    .toSorted(byId);
const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);

const isExpired = (id: string) => id.includes('_expired');

type Page = { data: { id: string }[]; nextCursor: string | null };

/** Reads the tickets of an organization. Returns null if MongoDB has no primary for longer than the API waits. */
async function readTickets(api: Service, orgId: string) {
  const { port } = await api.logged('listening');
  const headers = { Authorization: `Bearer ${token(orgId)}`, 'X-Forwarded-Proto': 'https' };
  const tickets: Page['data'] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const after: string = cursor && `&startingAfter=${cursor}`;
    const response = await fetch(`http://127.0.0.1:${String(port)}/v1/tickets?limit=7${after}`, { headers });
    if (response.status === 503) return null;
    expect(response.status).toBe(200);
    const { data, nextCursor } = (await response.json()) as Page;
    tickets.push(...data);
    cursor = nextCursor;
  }
  return tickets.toSorted(byId);
}

describeOnMongo(['mongod'], 'a replica set of three', () => {
  const replicaSet = useOpened(() => startReplicaSet({ members: 3 }));
  // A `describe` of its own, so that its clients close before MongoDB.
  describe('that fails while projectors apply a backlog', () => {
    const { environment, publish, fatal, cli, startProcess } = useProjector({
      partitions: 2,
      each: true,
      projectors: 0,
      servers: () => ({ KAFKA_BROKERS: process.env.KAFKA_BROKERS ?? '', MONGODB_URL: replicaSet.url }),
    });
    const random = createRandom(seed);
    const pastDisturbances: string[] = [];
    const compared = { documents: 0, lists: 0, 'lists refused': 0 };
    const projectors: { generation: number; service: Service }[] = [];
    const start = (generation: number) => startProcess({ ...shortSession, GENERATION: String(generation) });
    const startTwo = (generation: number) => {
      for (let count = 0; count < 2; count += 1) projectors.push({ generation, service: start(generation) });
    };

    const disturbances: [name: string, disturb: () => Promise<void>][] = [
      ['step-down', () => replicaSet.stepDown()],
      [
        'kill',
        async () => {
          await (await replicaSet.primary()).kill();
          await sleep(random.int(2_000));
        },
      ],
      [
        'pause',
        async () => {
          (await replicaSet.primary()).pause();
          await sleep(3_000 + random.int(3_000));
        },
      ],
      [
        'lost majority',
        async () => {
          for (const member of replicaSet.members.slice(1)) await member.kill();
          await sleep(random.int(5_000));
        },
      ],
    ];
    /** Resolves once each generation with projectors has applied a record, or has saved again that it is at the end. */
    const untilProgress = async () => {
      const read = async () => {
        const saved = await progressOf(environment.control).find().toArray();
        const generations = new Set(projectors.map(({ generation }) => generation));
        return [...generations].map((generation) => {
          const partitions = saved.filter((progress) => progress.generation === generation);
          const position = partitions.reduce((sum, progress) => sum + progress.applied.position, 0);
          const isAtEnd =
            partitions.length > 0 &&
            partitions.every((progress) => progress.applied.position >= progress.end);
          const savedMs = Math.max(0, ...partitions.map(({ updatedAt }) => updatedAt.getTime()));
          return { generation, position, isAtEnd, savedMs };
        });
      };
      const earlier = await read();
      await eventually(async () => {
        const current = await read();
        const haveAllMoved = earlier.every(({ position, savedMs }, index) => {
          const moved = current[index];
          return moved && (moved.position > position || (moved.isAtEnd && moved.savedMs > savedMs));
        });
        return haveAllMoved || notYet(current);
      }, fatal);
    };
    /**
     * Disturbs MongoDB and the projectors in turn while `run` runs, with each kind of disturbance at least once. Each
     * disturbance waits for progress after the previous one.
     */
    const disturbWhile = async (run: () => Promise<void>) => {
      let isDone = false;
      const disturb = async () => {
        for (let round = 0; round < roundsMax; round += 1) {
          if (isDone && round >= disturbances.length) return;
          const [name, disturbMongo] = disturbances[pastDisturbances.length % disturbances.length] ?? [];
          await disturbMongo?.();
          await replicaSet.restore();
          const victim = projectors[pastDisturbances.length % projectors.length];
          if (!victim) throw new Error('there is no projector');
          await victim.service.stop('SIGKILL');
          pastDisturbances.push(String(name));
          victim.service = start(victim.generation);
          await untilProgress();
        }
      };
      await Promise.all([
        disturb(),
        run().finally(() => {
          isDone = true;
        }),
      ]);
    };
    /** Repeats a command until the registry shows its effect, because a command may lose its primary. */
    const command = (args: string[], isDone: (find: (number: number) => Generation | undefined) => boolean) =>
      eventually(
        async () => {
          const { errors, text } = await cli('rebuild', ...args);
          const { generations = [] } = (await readRegistry(environment.control).catch(() => null)) ?? {};
          const find = (wanted: number) => generations.find(({ number }) => number === wanted);
          return isDone(find) || notYet(errors || text);
        },
        fatal,
        { limitMs: 300_000 },
      );

    const applied = async (generation: number) => {
      const { admin, control, topics } = environment;
      await reached(control, await logEnds(admin, topics), fatal, generation);
    };
    const documentsOf = (generation: number, filter?: Filter<StoredDocument>) =>
      readDocuments(generationDatabase(environment.mongo, environment.name, generation), filter);
    const expectDocuments = async (events: Event[], generation: number) => {
      await applied(generation);
      const documents = withoutExpired(await documentsOf(generation));
      expect({ seed, generation, documents }).toEqual({
        seed,
        generation,
        documents: expectedDocuments(events),
      });
      compared.documents += Object.keys(documents).length;
    };
    const expectTickets = async (events: Event[], orgId: string) => {
      const tickets = await readTickets(api, orgId);
      const outcome = tickets ? 'lists' : 'lists refused';
      compared[outcome] += 1;
      if (tickets) expect(tickets).toEqual(expectedTickets(events, orgId));
    };
    let api: Service;
    afterEach(() => api?.stop('SIGKILL'));

    test('has documents and lists equal to the fold after faults in each step of a rebuild', async () => {
      const history = randomHistory(seed, 2_000, { population: doubled });
      const events = [...quietEvents, ...history];
      startTwo(1);
      await publish(...quietEvents);
      await applied(1);
      api = startService('api', { ...apiSettings(environment.variables), RATE_LIMIT_REQUESTS: '0' });
      await api.logged('serving generation');
      let isOver = false;
      const readTicketsUntilOver = async () => {
        while (!isOver) {
          await expectTickets(quietEvents, 'org_1');
          await sleep(100);
        }
      };
      const rebuild = async () => {
        await disturbWhile(async () => {
          await publish(...history.slice(0, 700));
          await command(['start', '--why', 'test'], (find) => find(2) !== undefined);
          startTwo(2);
          await publish(...history.slice(700, 1_400));
          await command(['await', '2', '--timeout', '60'], (find) => find(2)?.state === 'ready');
          await publish(...history.slice(1_400));
        });
        await disturbWhile(async () => {
          await command(['compare', '2'], (find) => find(2)?.report?.differing === 0);
          await command(['promote', '2', '--timeout', '60'], (find) => find(2)?.state === 'active');
        });
        for (const generation of [1, 2]) await expectDocuments(events, generation);
        for (const projector of projectors.splice(0)) {
          if (projector.generation === 1) await projector.service.stop();
          else projectors.push(projector);
        }
        await disturbWhile(async () => {
          await command(['drop', '1', '--force', '--timeout', '60'], (find) => find(1)?.state === 'dropped');
          // Each restarted projector sweeps once it owns the channels.
          await eventually(async () => {
            const documents = await documentsOf(2, { state: { $exists: true } });
            const unsweptIds = Object.keys(documents).filter(isExpired);
            return unsweptIds.length === 0 || notYet(unsweptIds);
          }, fatal);
        });
        await expectDocuments(events, 2);
      };
      await Promise.all([
        readTicketsUntilOver(),
        rebuild().finally(() => {
          isOver = true;
        }),
      ]);
      for (const orgId of organizations) await expectTickets(events, orgId);
      expect(await api.stop()).toBe(0);
      expect(compared.lists).toBeGreaterThan(compared['lists refused']);
      process.stdout.write(
        `a replica set of three: ${pastDisturbances.join()}; compared: ${JSON.stringify(compared)}\n`,
      );
    });
  });
});
