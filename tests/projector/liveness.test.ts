import type { Admin, Kafka } from 'kafkajs';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { observed, stuckMs } from '../support/observed.ts';
import { untilStable } from '../support/progress.ts';
import { useProjector } from '../support/use-projector.ts';
import { waitingKafka } from '../support/waiting-kafka.ts';

describe('/livez, on Kafka and the store', () => {
  const { environment, send, applied, connectProducer, start, topic } = useProjector({
    each: true,
    projectors: 0,
  });
  let aheadMs = 0;

  const nowMs = () => performance.now() + aheadMs;
  const message = encode(created('tag', 'tag_1'), 'structured');
  const long = async () => {
    await observed(environment.control);
    aheadMs += stuckMs;
    await observed(environment.control);
  };

  test('fails if a record is pending and the consumer hangs', async () => {
    const released = Promise.withResolvers<void>();
    const through = (kafka: Kafka) => waitingKafka(kafka, () => released.promise);
    const projector = await start({ nowMs, through });
    await long();
    expect(projector.live()).toBeNull();
    await send('tag', message);
    await long();
    expect(projector.live()).toMatch(/tags\/0 has records, but has not moved for \d+ s/);
    // and succeeds again once it continues
    released.resolve();
    await applied();
    await observed(environment.control);
    expect(projector.live()).toBeNull();
  });

  test('fails if a bug prevents the start offset of a partition from being found', async () => {
    const through = (kafka: Kafka) => {
      const admin: Kafka['admin'] = (options) => {
        const made = kafka.admin(options);
        // The first call only checks whether the brokers are ready.
        let isAsked = false;
        const fetchOffsets: Admin['fetchOffsets'] = (group) => {
          if (isAsked) return Promise.reject(new TypeError('a bug'));
          isAsked = true;
          return made.fetchOffsets(group);
        };
        return { ...made, fetchOffsets };
      };
      return Object.assign(Object.create(kafka) as Kafka, { admin });
    };
    const other = await start({ nowMs });
    const projector = await start({ nowMs, through });
    await long();
    expect(projector.live()).toMatch(/has records, but has not moved for \d+ s/);
    expect(other.live()).toBeNull();
  });

  test('does not fail while the records are in an open transaction', async () => {
    const projector = await start({ nowMs });
    const producer = await connectProducer({ transactionalId: environment.name });
    const transaction = await producer.transaction();
    const sent = await transaction.send({ topic: topic('tag'), messages: [message] });
    await long();
    expect(projector.live()).toBeNull();
    await transaction.commit();
    await untilStable(environment.admin, sent);
    await applied();
  });
});
