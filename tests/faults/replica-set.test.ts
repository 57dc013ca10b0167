import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
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
import { eventually } from '../support/eventually.ts';
import { describeOnMongo, startReplicaSet } from '../support/mongo-servers.ts';
import { logEnds, reached } from '../support/progress.ts';
import { createRandom } from '../support/random.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';
import { seed, shortSession } from './use-fault-servers.ts';

/**
 * Disturbances of one phase: each kind at least once, and at most this number of rounds, so that a phase ends on any
 * machine.
 */
const roundsMax = 5;

/** The tickets of the first organization never change; the history has the tickets of the others. */
const organizations = ['org_1', `org_${seed}_0`, `org_${seed}_1`];
const token = (orgId: string) => `svc_live_${orgId}_0123456789`;
const expired = [
  created('channel', 'chan_expiring', { dataRetentionDays: 1 }),
  created('conversation', 'conv_expired', { channelId: 'chan_expiring' }),
  ...Array.from({ length: 20 }, (_, index) =>
    created('message', `msg_expired${index}`, { conversationId: 'conv_expired' }),
  ),
];
const quiet = [
  ...organizations.map((orgId, index) => {
    const tokenSha256 = createHash('sha256').update(token(orgId)).digest('hex').toUpperCase();
    return { ...created('apiKey', `key_quiet${index}`, { tokenSha256 }), orgId };
  }),
  created('contact', 'con_1'),
  ...Array.from({ length: 20 }, (_, index) => created('ticket', `ti_quiet${index}`)),
  ...expired,
];

/** The documents as the fold has them, without those that a sweep removes at some time. */
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

/** The list of an organization's tickets; null if MongoDB had no primary for longer than the API waits. */
async function readTickets(api: Service, orgId: string) {
  const { port } = await api.logged('listening');
  const headers = { Authorization: `Bearer ${token(orgId)}`, 'X-Forwarded-Proto': 'https' };
  const tickets: Page['data'] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
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
  describe('under a backlog', () => {
    const { environment, publish, fatal, cli, startProcess } = useProjector({
      partitions: 2,
      each: true,
      projectors: 0,
      servers: () => ({ KAFKA_BROKERS: process.env.KAFKA_BROKERS ?? '', MONGODB_URL: replicaSet.url }),
    });
    const random = createRandom(seed);
    const disturbed: string[] = [];
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
          await delay(random.int(2_000));
        },
      ],
      [
        'pause',
        async () => {
          (await replicaSet.primary()).pause();
          await delay(3_000 + random.int(3_000));
        },
      ],
      [
        'lost majority',
        async () => {
          for (const member of replicaSet.members.slice(1)) await member.kill();
          await delay(random.int(5_000));
        },
      ],
    ];
    /** Resolves once each generation with projectors has applied more, or has saved again that it has applied all. */
    const progressed = async () => {
      const read = async () => {
        const saved = await progressOf(environment.control).find().toArray();
        const generations = new Set(projectors.map(({ generation }) => generation));
        return [...generations].map((generation) => {
          const own = saved.filter((progress) => progress.generation === generation);
          const position = own.reduce((sum, progress) => sum + progress.applied.position, 0);
          const isAtEnd =
            own.length > 0 && own.every((progress) => progress.applied.position >= progress.end);
          const savedMs = Math.max(0, ...own.map(({ updatedAt }) => updatedAt.getTime()));
          return { generation, position, isAtEnd, savedMs };
        });
      };
      const before = await read();
      await eventually(async () => {
        const now = await read();
        const hasMoved = before.every(({ position, savedMs }, index) => {
          const moved = now[index];
          return moved && (moved.position > position || (moved.isAtEnd && moved.savedMs > savedMs));
        });
        return hasMoved || now;
      }, fatal);
    };
    /**
     * Disturbs MongoDB and the projectors in turn while `run` runs. Each disturbance waits for progress after the
     * previous one.
     */
    const disturbedWhile = async (run: () => Promise<void>) => {
      let isDone = false;
      const disturbing = (async () => {
        for (let round = 0; round < roundsMax && (!isDone || round < disturbances.length); round += 1) {
          const [name, disturb] = disturbances[disturbed.length % disturbances.length] ?? [];
          await disturb?.();
          await replicaSet.restore();
          const victim = projectors[disturbed.length % projectors.length];
          if (!victim) throw new Error('there is no projector');
          await victim.service.stop('SIGKILL');
          disturbed.push(String(name));
          victim.service = start(victim.generation);
          await progressed();
        }
      })();
      await Promise.all([disturbing, run().finally(() => (isDone = true))]);
    };
    /** Repeats a command until the registry shows its effect: a command may lose its primary. */
    const command = (args: string[], isDone: (find: (number: number) => Generation | undefined) => boolean) =>
      eventually(
        async () => {
          const { errors, text } = await cli('rebuild', ...args);
          const { generations = [] } = (await readRegistry(environment.control).catch(() => null)) ?? {};
          return isDone((wanted) => generations.find(({ number }) => number === wanted)) || errors || text;
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
      compared[tickets ? 'lists' : 'lists refused'] += 1;
      if (tickets) expect(tickets).toEqual(expectedTickets(events, orgId));
    };
    let api: Service;
    afterEach(() => api?.stop('SIGKILL'));

    test('everything equals the fold after faults of primaries and projectors in each step of a rebuild', async () => {
      const history = randomHistory(seed, 2_000, { population: doubled });
      const events = [...quiet, ...history];
      startTwo(1);
      await publish(...quiet);
      await applied(1);
      api = startService('api', { ...apiSettings(environment.environment), RATE_LIMIT_REQUESTS: '0' });
      await api.logged('serving generation');
      let isOver = false;
      const reading = async () => {
        for (; !isOver; await delay(100)) await expectTickets(quiet, 'org_1');
      };
      const operating = async () => {
        await disturbedWhile(async () => {
          await publish(...history.slice(0, 700));
          await command(['start', '--why', 'test'], (find) => find(2) !== undefined);
          startTwo(2);
          await publish(...history.slice(700, 1_400));
          await command(['await', '2', '--timeout', '60'], (find) => find(2)?.state === 'ready');
          await publish(...history.slice(1_400));
        });
        await disturbedWhile(async () => {
          await command(['compare', '2'], (find) => find(2)?.report?.differing === 0);
          await command(['promote', '2', '--timeout', '60'], (find) => find(2)?.state === 'active');
        });
        for (const generation of [1, 2]) await expectDocuments(events, generation);
        for (const { generation, service } of projectors.splice(0))
          if (generation === 1) await service.stop();
          else projectors.push({ generation, service });
        await disturbedWhile(async () => {
          await command(['drop', '1', '--force', '--timeout', '60'], (find) => find(1)?.state === 'dropped');
          // Each restarted projector sweeps once it owns the channels.
          await eventually(async () => {
            const left = Object.keys(await documentsOf(2, { state: { $exists: true } })).filter(isExpired);
            return left.length === 0 || left;
          }, fatal);
        });
        await expectDocuments(events, 2);
      };
      await Promise.all([reading(), operating().finally(() => (isOver = true))]);
      for (const orgId of organizations) await expectTickets(events, orgId);
      expect(await api.stop()).toBe(0);
      expect(compared.lists).toBeGreaterThan(compared['lists refused']);
      process.stdout.write(
        `a replica set of three: ${disturbed.join()}; compared: ${JSON.stringify(compared)}\n`,
      );
    });
  });
});
