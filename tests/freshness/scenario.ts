import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApi, tokens } from '../api/test-api.ts';
import { created } from '../support/entities.ts';
import { createTestEnvironment, runProjector } from '../support/test-environment.ts';
import { createRandom } from '../support/random.ts';
import { waitingKafka } from '../support/waiting-kafka.ts';
import { createLatePublisher } from './late-publisher.ts';

/**
 * A source system that publishes late, two projectors, and the API on their documents. The projectors' partitions
 * lag unevenly: a batch waits for up to `delayMsMax`.
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
  const source = createLatePublisher(testEnvironment, random, { stepMs });
  const join = (index: number) => {
    const own = createRandom(seed * 10 + index);
    const wait = async () => own.chance(0.4) && sleep(own.int(delayMsMax));
    return runProjector(testEnvironment, {
      clock: async () => source.now(),
      through: (kafka) => waitingKafka(kafka, wait),
    });
  };
  const projectors = await Promise.all([join(0), join(1)]);
  const api = await startApi({ client: testEnvironment.mongo, name: testEnvironment.name });
  const tokenSha256 = createHash('sha256').update(tokens.a).digest('hex');
  source.emit({ ...created('apiKey', 'key_1', { tokenSha256 }), time: source.sourceNow() });
  return {
    testEnvironment,
    random,
    source,
    get: api.get,
    url: api.url,
    fatal: () => projectors.flatMap(({ fatal }) => fatal),
    /** Calls `happen` and advances the source system's clock, for as long as `goesOn` holds. */
    live: async (happen: () => void, goesOn: () => boolean, pauseMs: number) => {
      while (goesOn()) {
        happen();
        await source.turn();
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
