import type { Producer, Transaction } from 'kafkajs';
import { untilLed } from '../../services/operations/topics/create-topics.ts';
import { eventually } from '../support/eventually.ts';
import { untilStable } from '../support/progress.ts';
import { startConsuming } from '../support/start-consuming.ts';
import { useProjector } from '../support/use-projector.ts';

const hourAgo = Date.now() - 3_600_000;

const unpadded = (value: string) => value.replace(/\.+$/, '');

/** The entries in a real broker's log, besides records, that kafkajs reads wrongly without the patch. */
describe('the log of a real broker', () => {
  const { environment, connectProducer } = useProjector({ each: true, projectors: 0 });

  /** All values of the topic, once the consumer has reached the end of the log. */
  const readToEnd = async (topic: string) => {
    const { seen, position, stop } = await startConsuming(environment, [topic]);
    const end = Number((await environment.admin.fetchTopicOffsets(topic))[0]?.high);
    await eventually(() => position(topic) === end).finally(stop);
    return seen(topic);
  };
  const begin = async (name: string): Promise<Transaction> =>
    (await connectProducer({ transactionalId: `${environment.name}-${name}` })).transaction();

  const publish = (to: Pick<Producer, 'send'>, topic: string, value: string, timestampMs = Date.now()) =>
    to.send({ topic, messages: [{ key: unpadded(value), value, timestamp: String(timestampMs) }] });

  /** Three overlapping transactions, of which the first to start is aborted last, and records outside them. */
  const publishOverlapping = async (topic: string) => {
    const [first, second, third] = [await begin('first'), await begin('second'), await begin('third')];
    await publish(first, topic, 'aborted 1', hourAgo);
    await publish(second, topic, 'aborted 2', hourAgo + 1);
    await publish(first, topic, 'aborted 1 too');
    await publish(second, topic, 'aborted 2 too');
    await publish(third, topic, 'committed');
    await publish(environment.producer, topic, 'outside');
    await second.abort();
    await third.commit();
    await first.abort();
    await untilStable(environment.admin, await publish(environment.producer, topic, 'after'));
  };

  describe('that was compacted', () => {
    const topic = () => `${environment.config.TOPIC_PREFIX}compacted`;
    const createTopic = async (settings: Record<string, number>) => {
      const always = { 'min.cleanable.dirty.ratio': 0.0001, 'delete.retention.ms': 0 };
      const configEntries = Object.entries({ ...always, ...settings })
        .map(([name, value]) => ({ name, value: String(value) }))
        .concat({ name: 'cleanup.policy', value: 'compact' });
      const topics = [{ topic: topic(), configEntries }];
      await environment.admin.createTopics({ topics, waitForLeaders: false });
      await untilLed(environment.admin, [topic()]);
    };
    /** Resolves once the record at the offset, the first of its time, is removed from the log. */
    const compacted = (offset: number, timestampMs: number) =>
      eventually(async () => {
        const [found] = await environment.admin.fetchTopicOffsetsByTimestamp(topic(), timestampMs);
        return found?.offset !== String(offset);
      });

    test('is read to its end past empty batches', async () => {
      // given segments that end where the records' times jump, and that are too large to be merged
      await createTopic({ 'segment.ms': 600_000, 'segment.bytes': 3_000_000 });
      const publishLarge = (value: string, bytes: number, timestampMs: number) =>
        publish(environment.producer, topic(), value.padEnd(bytes, '.'), timestampMs);
      // and the last batches of two producers, one before a batch that fills a fetch, the other before none
      await publishLarge('large 0', 1_000_000, hourAgo);
      await publish(await connectProducer({ idempotent: true }), topic(), 'a', hourAgo + 1);
      await publishLarge('large 2', 1_048_480, hourAgo + 2);
      await publish(await connectProducer({ idempotent: true }), topic(), 'b', hourAgo + 3);
      // when their keys occur again in the next segment, and compaction empties them
      await publish(environment.producer, topic(), 'a', hourAgo + 1_200_000);
      await publish(environment.producer, topic(), 'b', hourAgo + 1_200_000);
      await publishLarge('large 6', 1_000_000, hourAgo + 1_200_000);
      await publish(environment.producer, topic(), 'last');
      await compacted(3, hourAgo + 3);
      const values = (await readToEnd(topic())).map(unpadded);
      expect(values).toEqual(['large 0', 'large 2', 'a', 'b', 'large 6', 'last']);
    });

    test('yields no record of an aborted transaction that compaction has partly removed', async () => {
      // given the first records of two transactions in a segment that compaction removes
      await createTopic({ 'segment.ms': 600_000 });
      await publishOverlapping(topic());
      await compacted(0, hourAgo);
      // then their remaining records do not count as committed
      expect(await readToEnd(topic())).toEqual(['committed', 'outside', 'after']);
    });
  });
});
