import { setTimeout as delay } from 'node:timers/promises';
import { readRegistry } from '../../shared/control/generations.ts';
import { generationDatabase } from '../../shared/store/connection.ts';
import { fold } from '../convergence/fold.ts';
import { doubled, randomHistory } from '../convergence/history.ts';
import { readDocuments } from '../convergence/read-documents.ts';
import { eventually } from '../support/eventually.ts';
import { describeOnMongo, startReplicaSet } from '../support/mongo-servers.ts';
import { logEnds, reached } from '../support/progress.ts';
import { createRandom } from '../support/random.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';
import { seed, shortSession } from './use-fault-servers.ts';

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
    const start = (generation: number) => startProcess({ ...shortSession, GENERATION: String(generation) });
    type Projectors = { generation: number; service: ReturnType<typeof start> }[];
    const expectFold = async (history: ReturnType<typeof randomHistory>, generation: number) => {
      const { admin, control, topics, mongo, name } = environment;
      await reached(control, await logEnds(admin, topics), fatal, generation);
      const documents = await readDocuments(generationDatabase(mongo, name, generation));
      expect({ seed, generation, documents }).toEqual({
        seed,
        generation,
        documents: Object.fromEntries(fold(history)),
      });
      return Object.keys(documents).length;
    };

    test('everything equals the fold, although primaries step down, are killed and fall silent, and projectors are killed, during a rebuild and a drop', async () => {
      const random = createRandom(seed);
      const history = randomHistory(seed, 2_000, { population: doubled });
      const counts = { 'step-downs': 0, kills: 0, pauses: 0, 'projectors killed': 0 };
      const projectors: Projectors = [1, 1].map((generation) => ({ generation, service: start(generation) }));
      const disturbances = [
        async () => {
          await replicaSet.stepDown();
          counts['step-downs'] += 1;
        },
        async () => {
          await (await replicaSet.primary()).kill();
          counts.kills += 1;
          await delay(random.int(2_000));
        },
        async () => {
          (await replicaSet.primary()).pause();
          counts.pauses += 1;
          await delay(3_000 + random.int(3_000));
        },
      ];
      /** Disturbs MongoDB and the projectors in turn while `run` runs, each kind of disturbance at least once. */
      const disturbedWhile = async (run: () => Promise<void>) => {
        let isDone = false;
        const disturbing = (async () => {
          for (let turn = 0; !isDone || turn < disturbances.length; turn += 1) {
            // A primary whose secondaries lag does not step down.
            await disturbances[turn % disturbances.length]?.().catch(() => undefined);
            await replicaSet.mend();
            const victim = random.pick(projectors);
            await victim.service.stop('SIGKILL');
            counts['projectors killed'] += 1;
            victim.service = start(victim.generation);
          }
        })();
        await run().finally(() => (isDone = true));
        await disturbing;
      };
      /** Repeats a command until the registry shows its effect: a command may lose its primary. */
      const command = (args: string[], isDone: (state: (number: number) => string | undefined) => boolean) =>
        eventually(
          async () => {
            const { errors } = await cli(...args);
            const registry = await readRegistry(environment.control).catch(() => null);
            const state = (wanted: number) =>
              registry?.generations.find(({ number }) => number === wanted)?.state;
            return isDone(state) || errors;
          },
          fatal,
          { limitMs: 300_000 },
        );

      await disturbedWhile(async () => {
        await publish(...history.slice(0, 700));
        await command(['rebuild', 'start', '--why', 'test'], (state) => state(2) !== undefined);
        for (const generation of [2, 2]) projectors.push({ generation, service: start(generation) });
        await publish(...history.slice(700, 1_400));
        await command(['rebuild', 'await', '2', '--timeout', '60'], (state) => state(2) === 'ready');
        await command(['rebuild', 'compare', '2'], () => true);
        await publish(...history.slice(1_400));
        const promote = ['rebuild', 'promote', '2', '--timeout', '60'];
        await command(['rebuild', 'compare', '2'], () => true);
        await command(promote, (state) => state(2) === 'active');
      });
      const compared = (await expectFold(history, 1)) + (await expectFold(history, 2));
      for (const { generation, service } of projectors.splice(0))
        if (generation === 1) await service.stop();
        else projectors.push({ generation, service });
      await disturbedWhile(() =>
        command(['rebuild', 'drop', '1', '--force', '--timeout', '60'], (state) => state(1) === 'dropped'),
      );
      const again = await expectFold(history, 2);
      expect(Math.min(...Object.values(counts))).toBeGreaterThan(0);
      process.stdout.write(
        `a replica set of three: ${JSON.stringify(counts)}, ${compared + again} documents compared\n`,
      );
    }, 480_000);
  });
});
