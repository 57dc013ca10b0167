import { topicOf } from '../../shared/kafka/topics.ts';
import { encode, type Event } from '../support/events.ts';
import type { TestEnvironment } from '../support/test-environment.ts';
import { size } from '../support/long.ts';
import { createRandom } from '../support/random.ts';
import { useProjector } from '../support/use-projector.ts';
import { fold } from './fold.ts';
import { doubled, randomHistory, wide } from './history.ts';
import { readDocuments } from './read-documents.ts';

/** `SEEDS` seeds from `SEED` on. A failure names its seed. */
const firstSeed = Number(process.env.SEED ?? 1);
const seeds = Array.from(
  { length: Number(process.env.SEEDS ?? size(6, 24)) },
  (_, index) => firstSeed + index,
);

/** Some histories have more organizations, and twice as many entities. */
const organizationsOf = (seed: number) => (seed % 3 === 0 ? 5 : 2);

describe('documents equal the fold of the log, whatever the interleaving', () => {
  const { environment, applied, start } = useProjector({ partitions: 3, projectors: 0 });
  let projectors: Awaited<ReturnType<typeof start>>[];
  beforeAll(async () => {
    projectors = await Promise.all([start(), start(), start()]);
  });

  test.each(seeds)('seed %i', async (seed) => {
    // given a random history, published in bursts while three projectors consume
    const organizations = organizationsOf(seed);
    const population = organizations > 2 ? doubled : wide;
    const history = randomHistory(seed, 500, { population, organizations });
    const half = Math.floor((history.length * 2) / 3);
    await produce(environment, history.slice(0, half), seed);
    if (seed % 2 === 0) await applied();
    await produce(environment, history.slice(half), seed);
    // and, for some seeds, one projector that leaves and another that joins
    if (seed % 6 === 0) {
      const leaving = projectors.shift();
      await Promise.all([leaving?.stop(), start().then((joined) => projectors.push(joined))]);
    }
    await applied();
    await expectFolded(seed, history);
  });

  const expectFolded = async (seed: number, history: Event[]) => {
    const orgIds = [...new Set(history.map(({ orgId }) => orgId))];
    const actual = await readDocuments(environment.database, { orgId: { $in: orgIds } });
    expect({ seed, documents: actual }).toEqual({ seed, documents: Object.fromEntries(fold(history)) });
  };
});

/** Publishes the history. The order within a key is kept, the order between keys and topics is not. */
async function produce({ producer, config }: TestEnvironment, history: Event[], seed: number): Promise<void> {
  const random = createRandom(seed + 1_000_000);
  const queues = [...Map.groupBy(history, ({ id }) => id).values()];
  while (queues.length > 0) {
    const burst = new Map<string, ReturnType<typeof encode>[]>();
    for (let count = 1 + random.int(80); count > 0 && queues.length > 0; count -= 1) {
      const index = random.int(queues.length);
      const queue = queues[index] ?? [];
      const event = queue.shift();
      if (queue.length === 0) queues.splice(index, 1);
      if (!event) continue;
      const topic = topicOf(event.kind, config.TOPIC_PREFIX);
      const record = encode(event, random.chance(0.5) ? 'structured' : 'binary');
      burst.set(topic, [...(burst.get(topic) ?? []), record]);
    }
    await producer.sendBatch({ topicMessages: [...burst].map(([topic, messages]) => ({ topic, messages })) });
  }
}
