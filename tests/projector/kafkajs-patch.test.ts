import type { Producer, Transaction } from 'kafkajs';
import { pino } from 'pino';
import { awaitLeaders } from '../../services/operations/topics/create-topics.ts';
import { createKafka } from '../../shared/kafka/client.ts';
import { type PartitionFetch, readPartitionFetch } from '../../shared/kafka/kafkajs-patch.ts';
import { eventually } from '../support/eventually.ts';
import { untilStable } from '../support/progress.ts';
import { startConsuming } from '../support/start-consuming.ts';
import { useProjector } from '../support/use-projector.ts';

const hourAgo = Date.now() - 3_600_000;

/** The entries in a real broker's log, besides records, that kafkajs reads wrongly without the patch. */
describe('a log that a broker has compacted', () => {
  const { environment, connectProducer } = useProjector({ projectors: 0 });
  const begin = async (name: string): Promise<Transaction> =>
    (await connectProducer({ transactionalId: `${environment.name}-${name}` })).transaction();

  test('is read to its end past an emptied batch and overlapping aborted transactions', async () => {
    const { admin, producer, config } = environment;
    const topic = `${config.TOPIC_PREFIX}compacted`;
    const settings = {
      'min.cleanable.dirty.ratio': '0.0001',
      'delete.retention.ms': '0',
      'segment.ms': '600000',
    };
    const configEntries = Object.entries({ ...settings, 'cleanup.policy': 'compact' }).map(
      ([name, value]) => ({ name, value }),
    );
    await admin.createTopics({ topics: [{ topic, configEntries }], waitForLeaders: false });
    await awaitLeaders(admin, [topic]);
    const publish = (to: Pick<Producer, 'send'>, value: string, timestampMs = Date.now()) =>
      to.send({ topic, messages: [{ key: value, value, timestamp: String(timestampMs) }] });
    const first = await begin('first');
    const second = await begin('second');
    const third = await begin('third');
    // given a segment with the last batch of a producer, and the first records of transactions that will be aborted
    await publish(await connectProducer({ idempotent: true }), 'again', hourAgo);
    await publish(first, 'aborted 1', hourAgo + 1);
    await publish(second, 'aborted 2', hourAgo + 2);
    // and a segment with the same key, and the present one, in which the first transaction to start is aborted last
    await publish(producer, 'again', hourAgo + 1_200_000);
    await publish(first, 'aborted 1 too');
    await publish(second, 'aborted 2 too');
    await publish(third, 'committed');
    await second.abort();
    await third.commit();
    await first.abort();
    await untilStable(admin, await publish(producer, 'after'));
    // when compaction has removed the records of the first segment
    await eventually(async () => {
      const [found] = await admin.fetchTopicOffsetsByTimestamp(topic, hourAgo);
      return found?.offset !== '0';
    });
    const { seen, position, stop } = await startConsuming(environment, [topic]);
    const end = Number((await admin.fetchTopicOffsets(topic))[0]?.high);
    await eventually(() => position(topic) === end).finally(stop);
    expect(seen(topic)).toEqual(['again', 'committed', 'after']);
  });
});

/* kafkajs shuffles the partitions of a request, so a topic may have several entries in the request. */
describe('a broker that cannot read any partition at the requested offset', () => {
  const { environment } = useProjector({ projectors: 0, partitions: 4 });

  test('fails the fetch of each of them, and the fetch moves to no later offset', async () => {
    const { config } = environment;
    const [firstTopic = '', secondTopic = ''] = environment.topics;
    const topics = [firstTopic, secondTopic];
    const kafka = createKafka(config, pino({ level: 'silent' }));
    const consumer = kafka.consumer({ groupId: config.CONSUMER_GROUP, maxWaitTimeInMs: 100 });
    const fetches: PartitionFetch[] = [];
    await consumer.connect();
    await consumer.subscribe({ topics });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: async ({ batch }) => {
        fetches.push(readPartitionFetch(batch));
      },
    });
    for (const topic of topics) {
      for (const partition of [0, 1, 2, 3]) consumer.seek({ topic, partition, offset: '1000' });
    }
    await eventually(() => fetches.length >= 100).finally(() => consumer.disconnect());
    const moved = fetches.filter(
      ({ error, nextOffset }) => error !== 'OFFSET_OUT_OF_RANGE' || nextOffset !== 1_000,
    );
    expect(moved).toEqual([]);
  });
});
