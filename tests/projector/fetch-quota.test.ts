import type { Kafka } from 'kafkajs';
import { pino } from 'pino';
import { progressOf } from '../../shared/control/progress.ts';
import { createKafka } from '../../shared/kafka/client.ts';
import { createLogClient } from '../../shared/kafka/log-client.ts';
import { setFetchQuota } from '../support/broker-changes.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { observed, stuckMs } from '../support/observed.ts';
import { useProjector } from '../support/use-projector.ts';
import { withConsumers } from '../support/waiting-kafka.ts';

/** A broker never delivers a batch that is larger than the quota allows for its window of eleven seconds. */
describe('a quota of Kafka below one batch', () => {
  const { environment, publish, send, applied, start, topic, find, cli } = useProjector({
    projectors: 0,
    each: true,
  });
  const batchBytes = 700_000;
  const windowSeconds = 11;
  /** The quota with which a broker makes the client wait for a number of seconds, again and again. */
  const quotaFor = (waitSeconds: number) => Math.round(batchBytes / (windowSeconds + waitSeconds));
  const setQuota = (bytesPerSecond: number | null) =>
    setFetchQuota(
      environment.config.KAFKA_BROKERS[0] ?? '',
      environment.config.CONSUMER_GROUP,
      bytesPerSecond,
    );
  const settings = { LATENESS_ALLOWANCE_SECONDS: 0 };
  const publishLarge = () =>
    send('tag', encode(created('tag', 'tag_large', { ignored: 'x'.repeat(batchBytes) }), 'structured'));
  const saved = async () =>
    (await progressOf(environment.control).findOne({ topic: topic('tag') }))?.saved ?? null;
  const untilThrottled = () => eventually(async () => ((await saved())?.throttledMs ?? 0) > 0);
  afterEach(() => setQuota(null));

  test('is named in the status while other records are applied', async () => {
    await start({ settings });
    await publish(created('tag', 'tag_before'));
    await applied();
    await setQuota(quotaFor(4));
    await publishLarge();
    await untilThrottled();
    expect(await saved()).toMatchObject({ cause: 'undelivered', throttledMs: expect.any(Number) as number });
    await eventually(async () =>
      /tags\/0: 1 record to apply, .*: a quota throttles this client, by \d+ ms/.test(
        (await cli('status')).text,
      ),
    );
    await publish(created('contact', 'con_1'));
    await eventually(async () => (await find('contact', 'con_1')) !== null);
    await setQuota(null);
    await applied();
    expect(await find('tag', 'tag_large')).not.toBeNull();
    await observed(environment.control);
    expect((await saved())?.throttledMs).toBeUndefined();
  }, 120_000);

  test('does not make the projector fail /livez or leave its group', async () => {
    let aheadMs = 0;
    const nowMs = () => performance.now() + aheadMs;
    let heartbeats = 0;
    const through = (kafka: Kafka) =>
      withConsumers(kafka, (consumer) => {
        consumer.on(consumer.events.HEARTBEAT, () => {
          heartbeats += 1;
        });
        return consumer;
      });
    const projector = await start({ settings, nowMs, through });
    await publish(created('tag', 'tag_before'));
    await applied();
    const groupId = environment.config.CONSUMER_GROUP;
    const member = async () =>
      (await environment.admin.describeGroups([groupId])).groups[0]?.members[0]?.memberId;
    const joined = await member();
    await setQuota(quotaFor(3_600));
    await publishLarge();
    await untilThrottled();
    await observed(environment.control);
    aheadMs += stuckMs;
    // The group answers further heartbeats although the broker delays the answer of the fetch by an hour.
    const heartbeatsBefore = heartbeats;
    await eventually(() => heartbeats >= heartbeatsBefore + 2);
    await observed(environment.control);
    expect(projector.livenessFailure()).toBeNull();
    expect(await member()).toBe(joined);
    // The projector can leave its group while it waits, and the next projector starts without the quota.
    await projector.stop();
    expect(await member()).toBeUndefined();
    await setQuota(null);
    await start({ settings });
    await applied();
    expect(await find('tag', 'tag_large')).not.toBeNull();
  }, 120_000);

  test('does not delay the end of a consumer that pauses the partition during the fetch', async () => {
    await publishLarge();
    await setQuota(quotaFor(3_600));
    const kafka = createKafka(environment.config, pino({ level: 'silent' }));
    const consumer = kafka.consumer({ groupId: environment.config.CONSUMER_GROUP, maxWaitTimeInMs: 100 });
    await consumer.connect();
    await consumer.subscribe({ topic: topic('tag'), fromBeginning: true });
    let fetches = 0;
    // The request is sent then, and its answer has not arrived. kafkajs drops the partition from the answer.
    consumer.on(consumer.events.FETCH_START, () =>
      setImmediate(() => consumer.pause([{ topic: topic('tag') }])),
    );
    consumer.on(consumer.events.FETCH, () => {
      fetches += 1;
      consumer.resume([{ topic: topic('tag') }]);
    });
    await consumer.run({ eachBatch: async () => undefined });
    await eventually(() => fetches >= 20);
    // If kafkajs holds the next fetch back, this takes as long as the quota asks for, and the test times out.
    await consumer.disconnect();
  }, 60_000);

  test('is the reason in the error of a read by offset', async () => {
    await publishLarge();
    const readRecord = async () => {
      const log = createLogClient(createKafka(environment.config, pino({ level: 'silent' })));
      await log.connect();
      return log.fetch({ topic: topic('tag'), partition: 0 }, 0).finally(log.disconnect);
    };
    await setQuota(quotaFor(3_600));
    await expect(readRecord()).rejects.toThrow(/a quota of Kafka throttles this client, by \d{6,} ms/);
    await setQuota(null);
    expect(await readRecord()).toMatchObject({ nextOffset: 1 });
  });
});
