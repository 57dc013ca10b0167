import type { Kafka } from 'kafkajs';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { observed, stuckMs } from '../support/observed.ts';
import { useProjector } from '../support/use-projector.ts';
import { waitingKafka } from '../support/waiting-kafka.ts';

describe('/livez', () => {
  const { environment, send, applied, start } = useProjector({ projectors: 0 });
  let aheadMs = 0;

  const nowMs = () => performance.now() + aheadMs;
  const message = encode(created('tag', 'tag_1'), 'structured');
  /** Moves the projector's clock so far that a partition with records counts as stuck. */
  const letStuckTimePass = async () => {
    await observed(environment.control);
    aheadMs += stuckMs;
    await observed(environment.control);
  };

  test('fails if a record is pending and the consumer hangs', async () => {
    const released = Promise.withResolvers<void>();
    const through = (kafka: Kafka) => waitingKafka(kafka, () => released.promise);
    const projector = await start({ nowMs, through });
    // A partition without a start offset counts as one with a record.
    await eventually(
      async () => (await projector.metrics.lag.get()).values.length === environment.topics.length,
    );
    await letStuckTimePass();
    expect(projector.livenessFailure()).toBeNull();
    await send('tag', message);
    await letStuckTimePass();
    expect(projector.livenessFailure()).toMatch(/tags\/0 has records, but has not moved for \d+ s/);
    // The endpoint succeeds again once the consumer continues.
    released.resolve();
    await applied();
    await observed(environment.control);
    expect(projector.livenessFailure()).toBeNull();
  });
});
