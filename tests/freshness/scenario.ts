import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApi, tokens } from '../api/test-api.ts';
import { createTestEnvironment, runProjector } from '../support/test-environment.ts';
import { createRandom } from '../support/random.ts';
import { slowKafka } from '../support/slow-kafka.ts';
import { createProduct } from './source-system.ts';

/**
 * A product that publishes late, two projectors whose partitions lag unevenly, as a batch may lie for up to
 * `delayMsMax`, and the API on what they write.
 */
export async function startScenario({
  seed,
  stepMs,
  delayMsMax,
}: {
  seed: number;
  stepMs: number;
  delayMsMax: number;
}) {
  const testEnvironment = await createTestEnvironment(3);
  const random = createRandom(seed);
  const product = createProduct(testEnvironment, random, { stepMs });
  const join = (index: number) =>
    runProjector(testEnvironment, {
      now: product.now,
      through: (kafka) => slowKafka(kafka, createRandom(seed * 10 + index), delayMsMax),
    });
  const projectors = await Promise.all([join(0), join(1)]);
  const api = await startApi({
    client: testEnvironment.mongo,
    name: testEnvironment.name,
    control: testEnvironment.control,
  });
  const tokenSha256 = createHash('sha256').update(tokens.a).digest('hex');
  product.tell({
    kind: 'apiKey',
    id: 'key_1',
    op: 'created',
    data: {
      id: 'key_1',
      name: 'Key',
      mode: 'live',
      tokenSha256,
      access: 'read',
      createdAt: '2026-01-01T00:00:00Z',
    },
  });
  return {
    testEnvironment,
    random,
    product,
    get: api.get,
    url: api.url,
    fatal: () => projectors.flatMap(({ fatal }) => fatal),
    /** Turns the product's clock, and has `happen` tell what goes on, as often as `while` holds. */
    live: async (happen: () => void, goesOn: () => boolean, pauseMs: number) => {
      while (goesOn()) {
        happen();
        await product.turn();
        await sleep(pauseMs);
      }
    },
    close: async () => {
      await api.close();
      await Promise.all(projectors.map((projector) => projector.stop()));
      await testEnvironment.close();
    },
  };
}

export type Scenario = Awaited<ReturnType<typeof startScenario>>;
