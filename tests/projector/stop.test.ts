import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { progressOf } from '../../shared/store/progress.ts';
import { startConsumer } from '../../services/projector/consumer/consumer.ts';
import { createLogClient } from '../../services/projector/kafka/log-client.ts';
import { createKafka } from '../../services/projector/kafka/client.ts';
import { created } from '../support/entities.ts';
import { anyOrder } from '../support/order.ts';
import { useProjector } from '../support/use-projector.ts';
import { eventually } from '../support/eventually.ts';

describe('a projector that is stopped', () => {
  const { environment, topic, publish, committed, start } = useProjector({ each: true, projectors: 0 });

  test('saves and commits what it has applied since the last commit', async () => {
    // given a projector whose commit loop runs only at its start
    const projector = await start({ commitIntervalMs: 3_600_000 });
    await publish(created('tag', 'tag_1'), created('tag', 'tag_2'));
    await eventually(async () => (await environment.database.collection('tags').countDocuments()) === 2);
    // when it stops
    await projector.stop();
    // then the next projector continues after the applied records
    expect(await committed('tag')).toBe(2);
    expect(await progressOf(environment.control).findOne({ topic: topic('tag') })).toMatchObject({
      position: 2,
    });
  }, 60_000);

  test('finishes the batch in progress, and starts no other', async () => {
    const kafka = createKafka(environment.config, pino({ level: 'silent' }));
    const log = createLogClient(kafka);
    await log.connect();
    const done: string[] = [];
    const entered = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const consuming = await startConsumer({
      ...{ kafka, log, admin: environment.admin, control: environment.control },
      ...{ generation: 1, topics: [topic('tag')] },
      logger: pino({ level: 'silent' }),
      groupId: environment.config.CONSUMER_GROUP,
      queuedBytesMax: 1_000_000,
      sessionTimeoutMs: 10_000,
      apply: async (_, records, { signal }) => {
        entered.resolve();
        await released.promise;
        signal.throwIfAborted();
        done.push(...records.map(({ key }) => String(key)));
        return { events: records.length, rejected: 0, times: [] };
      },
      ...anyOrder(),
      onApplied: () => undefined,
      onFatal: (error) => done.push(error.message),
    });
    // given a batch in progress, and a record that was published since
    await publish(created('tag', 'tag_1'));
    await entered.promise;
    await publish(created('tag', 'tag_2'));
    // when it is stopped, and the batch takes a while longer
    const stopped = consuming.stop(() => consuming.commit(consuming.snapshot()));
    await sleep(200);
    released.resolve();
    await stopped;
    await log.disconnect();
    // then the batch is applied and committed
    expect(done).toEqual(['tag_1']);
    expect(await committed('tag')).toBe(1);
  }, 60_000);
});
