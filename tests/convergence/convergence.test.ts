import { size } from '../support/long.ts';
import { useProjector } from '../support/use-projector.ts';
import { fold } from './fold.ts';
import { doubled, randomHistory, wide } from './history.ts';
import { createPublisher } from './publisher.ts';
import { readDocuments } from './read-documents.ts';

/** A failure names its seed. The environment variables SEED (the first seed) and SEEDS (their number) repeat it. */
const firstSeed = Number(process.env.SEED ?? 1);
const seedCount = Number(process.env.SEEDS ?? size(6, 24));
const seeds = Array.from({ length: seedCount }, (_, index) => firstSeed + index);

/** A third of the histories has five organizations and twice as many entities. */
const organizationsOf = (seed: number) => (seed % 3 === 0 ? 5 : 2);

describe('three projectors that consume at the same time', () => {
  const { environment, applied, start } = useProjector({ partitions: 3, projectors: 0 });
  let projectors: Awaited<ReturnType<typeof start>>[];
  beforeAll(async () => {
    projectors = await Promise.all([start(), start(), start()]);
  });

  test.each(seeds)('make every document equal to the fold of the log with seed %i', async (seed) => {
    // given a random history, published in bursts while three projectors consume
    await using publisher = await createPublisher(environment, seed);
    const organizations = organizationsOf(seed);
    const population = organizations > 2 ? doubled : wide;
    const history = randomHistory(seed, 500, { population, organizations });
    const backlogSize = Math.floor((history.length * 2) / 3);
    await publisher.publish(history.slice(0, backlogSize));
    if (seed % 2 === 0) await applied();
    await publisher.publish(history.slice(backlogSize));
    // when one projector leaves and another joins, for every sixth seed
    if (seed % 6 === 0) {
      const leaving = projectors.shift();
      const [, joining] = await Promise.all([leaving?.stop(), start()]);
      projectors.push(joining);
    }
    await applied();
    // then each document equals the fold
    const orgIds = [...new Set(history.map(({ orgId }) => orgId))];
    const documents = await readDocuments(environment.database, { orgId: { $in: orgIds } });
    expect({ seed, documents }).toEqual({ seed, documents: Object.fromEntries(fold(history)) });
  });
});
