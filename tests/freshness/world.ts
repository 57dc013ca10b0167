import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApi, tokens } from '../api/harness.ts';
import { createRig, runProjector } from '../support/projectors.ts';
import { createRandom } from '../support/random.ts';
import { slowKafka } from '../support/slow-kafka.ts';
import { createProduct } from './product.ts';

/**
 * A product that publishes late, two projectors whose partitions lag unevenly, as a batch may lie for up to
 * `delayMsMax`, and the API on what they write.
 */
export async function startWorld({
  seed,
  stepMs,
  delayMsMax,
}: {
  seed: number;
  stepMs: number;
  delayMsMax: number;
}) {
  const rig = await createRig(3);
  const random = createRandom(seed);
  const product = createProduct(rig, random, { stepMs });
  const join = (index: number) =>
    runProjector(rig, {
      now: product.now,
      through: (kafka) => slowKafka(kafka, createRandom(seed * 10 + index), delayMsMax),
    });
  const projectors = await Promise.all([join(0), join(1)]);
  const api = await startApi({ client: rig.mongo, name: rig.name, control: rig.control });
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
    rig,
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
      await rig.close();
    },
  };
}

export type World = Awaited<ReturnType<typeof startWorld>>;
