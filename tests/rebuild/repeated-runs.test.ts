import type { Kafka } from 'kafkajs';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { readRegistry } from '../../shared/control/generations.ts';
import { collectionOf, generationDatabase } from '../../shared/store/connection.ts';
import { fold } from '../convergence/fold.ts';
import { randomLives, randomRun } from '../convergence/lives.ts';
import { readDocuments } from '../convergence/read-documents.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { size } from '../support/long.ts';
import { logEnds, reached } from '../support/progress.ts';
import { createRandom } from '../support/random.ts';
import { useProjector } from '../support/use-projector.ts';
import { waitingKafka } from '../support/waiting-kafka.ts';

/** Another organization creates tags of these ids first. While it has them, projectors reject the others' records. */
const taken = ['tag_0', 'tag_1', 'tag_2', 'tag_3'];
const takers = taken.map((id) => ({ ...created('tag', id), orgId: 'org_2' }));

const firstSeed = Number(process.env.SEED ?? 1);
const seeds = Array.from({ length: size(2, 10) }, (_, index) => firstSeed + index);

describe('runs of deletions, tombstones and new lives that are appended again', () => {
  const { environment, publish, applied, start, cli, deadLetters, fatal } = useProjector({
    partitions: 3,
    each: true,
  });

  /** Starts the projector of generation 2, which waits within its load until it is released. */
  const startBuild = async () => {
    const released = Promise.withResolvers<void>();
    let batches = 0;
    const wait = async () => {
      batches += 1;
      if (batches > 1) await released.promise;
    };
    const through = (kafka: Kafka) => waitingKafka(kafka, wait);
    await start({ settings: { GENERATION: 2 }, through });
    await eventually(() => batches > 1);
    return released.resolve;
  };
  const stateOfBuild = async () =>
    (await readRegistry(environment.control))?.generations.find(({ number }) => number === 2)?.state;

  test.each(seeds)('change nothing while a build loads and a redrive runs (seed %i)', async (seed) => {
    // The log has random lives of entities. Some records are dead letters.
    const random = createRandom(seed);
    const log = randomLives(seed, 400);
    await publish(...takers, ...log);
    await applied();
    expect((await deadLetters()).length).toBeGreaterThan(0);
    expect(await cli('rebuild', 'start', '--why', 'test')).toMatchObject({ code: 0 });
    const release = await startBuild();
    // An operator redrives the dead letters after the tags of the other organization are gone.
    await collectionOf<StoredDocument>(environment.database, 'tag').deleteMany({ orgId: 'org_2' });
    const redriving = cli('dead-letters', 'redrive', '--all');
    // In the meantime, the source appends runs again, during the load and after the load.
    for (let run = 0; run < 30; run += 1) {
      if (run === 20) {
        expect(await stateOfBuild()).toBe('building');
        release();
      }
      const repeatedRun = randomRun(random, log);
      await publish(...repeatedRun);
      log.push(...repeatedRun);
    }
    // Only the build still has dead letters, because it has the tags of the other organization.
    await redriving;
    const remaining = (await deadLetters()).filter(({ generations }) => generations.includes(1));
    expect({ seed, remaining }).toEqual({ seed, remaining: [] });
    await applied();
    const { admin, control, topics, mongo, name } = environment;
    await reached(control, await logEnds(admin, topics), fatal, 2);
    const built = generationDatabase(mongo, name, 2);
    const streamed = Object.fromEntries(fold(log));
    expect({ seed, documents: await readDocuments(environment.database) }).toEqual({
      seed,
      documents: streamed,
    });
    const expected = Object.fromEntries(fold([...takers, ...log]));
    expect({ seed, documents: await readDocuments(built) }).toEqual({ seed, documents: expected });
    expect(taken.some((id) => id in streamed)).toBe(true);
  });
});
