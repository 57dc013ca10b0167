import { connect, Socket } from 'node:net';
import { Kafka, logLevel, PartitionAssigners, type ISocketFactory, type PartitionAssigner } from 'kafkajs';
import { pino } from 'pino';
import { progressOf } from '../../shared/control/progress.ts';
import { patchKafkajs } from '../../services/projector/kafka/kafkajs-patch.ts';
import { eventually } from '../support/eventually.ts';
import { sessionTimeoutMs, startConsuming } from '../support/start-consuming.ts';
import { created } from '../support/entities.ts';
import { useProjector } from '../support/use-projector.ts';

/**
 * Known problems of kafkajs 2.2, each provoked and handled. Here: an error of a handler that ends or stalls the consumer,
 * a consumer that dies while the process lives, or because a broker was restarted, one that can be neither paused nor
 * resumed while it restarts, no prefetch, heartbeats that stop during work, partitions that never commit. Elsewhere: records delivered after `stop` (stop.test.ts); an offset that the log no
 * longer has (log-gap.long.test.ts); aborted transactions and compacted logs (kafkajs-patch.test.ts); codecs and control records,
 * which reach no handler (records.test.ts, codecs.test.ts); a session that expired unnoticed (faults/groups.test.ts); a
 * consumer that must be restarted (faults/brokers.test.ts).
 */
describe('problems of kafkajs', () => {
  let consuming: Awaited<ReturnType<typeof startConsuming>> | null = null;
  const joins: number[] = [];
  beforeEach(() => void joins.splice(0));
  afterEach(async () => {
    await consuming?.stop();
    consuming = null;
  });
  // It is defined here because Jest runs `afterEach` in this order: the consumer stops before the connections close.
  const { environment, topic, publish, applied, startProcess } = useProjector({ each: true, projectors: 0 });

  const tags = () => topic('tag');
  const contacts = () => topic('contact');
  const publishValues = (name: string, ...values: string[]) =>
    environment.producer.send({ topic: name, messages: values.map((value) => ({ key: value, value })) });
  const start = async (apply?: Parameters<typeof startConsuming>[2]) => {
    const write = (line: string) => void (line.includes('joined the group') && joins.push(1));
    const logger = pino({ level: 'info' }, { write });
    return (consuming = await startConsuming(environment, [tags(), contacts()], apply, logger));
  };

  test.each([TypeError, SyntaxError, Error])(
    'an error of the handler (%p) neither ends the consumer nor skips the record',
    async (Thrown) => {
      let failures = 2;
      const { seen, fatal } = await start(async (_, note) => {
        if ((failures -= 1) >= 0) throw new Thrown('a bug');
        return note();
      });
      await publishValues(tags(), 'a', 'b');
      await eventually(() => seen(tags()).length === 2);
      await publishValues(tags(), 'c');
      await eventually(() => seen(tags()).length === 3);
      expect(seen(tags())).toEqual(['a', 'b', 'c']);
      expect(fatal).toEqual([]);
    },
  );

  test('slow or failing work on one partition delays neither the others nor the heartbeats', async () => {
    const released = Promise.withResolvers<void>();
    const { seen, fatal } = await start(async (name, note) => {
      if (name === tags()) await released.promise;
      return note();
    });
    // given a batch for which a plain consumer of kafkajs, which sends no heartbeat meanwhile, loses its membership
    await publishValues(tags(), 'slow');
    await publishValues(contacts(), '0');
    await eventually(() => seen(contacts()).length === 1);
    const kafka = new Kafka({ brokers: environment.config.KAFKA_BROKERS, logLevel: logLevel.NOTHING });
    const groupId = `${environment.name}.plain`;
    const heartbeatInterval = sessionTimeoutMs / 10;
    const plain = kafka.consumer({ groupId, sessionTimeout: sessionTimeoutMs, heartbeatInterval });
    const entered = Promise.withResolvers<void>();
    await plain.connect();
    await plain.subscribe({ topics: [tags()], fromBeginning: true });
    await plain.run({
      eachMessage: () => {
        entered.resolve();
        return released.promise;
      },
    });
    await entered.promise;
    await eventually(async () => {
      const { groups } = await environment.admin.describeGroups([groupId]);
      return groups[0]?.members.length === 0;
    });
    // then another partition continues
    await publishValues(contacts(), '1', '2');
    await eventually(() => seen(contacts()).length === 3);
    released.resolve();
    await plain.disconnect();
    await eventually(() => seen(tags()).length === 1);
    // and the membership was never lost
    expect({ fatal, joins: joins.length }).toEqual({ fatal: [], joins: 1 });
  });

  test('a consumer that cannot continue ends the process with an error', async () => {
    // given a group whose members use another partition assigner
    const other: PartitionAssigner = (config) => ({
      ...PartitionAssigners.roundRobin(config),
      name: 'other',
      protocol: ({ topics }) => ({
        ...PartitionAssigners.roundRobin(config).protocol({ topics }),
        name: 'other',
      }),
    });
    const kafka = new Kafka({ brokers: environment.config.KAFKA_BROKERS, logLevel: logLevel.NOTHING });
    const member = kafka.consumer({
      groupId: environment.config.CONSUMER_GROUP,
      partitionAssigners: [other],
    });
    // A disconnect between the join and the first fetch would leave the consumer running.
    const fetching = new Promise((resolve) => member.on(member.events.FETCH_START, resolve));
    await member.connect();
    await member.subscribe({ topics: [tags()] });
    await member.run({ eachMessage: async () => undefined });
    await fetching;
    // when the group rejects a projector, permanently
    const projector = startProcess();
    // then the process exits
    expect(await projector.exited).toBe(1);
    expect(projector.log.some(({ msg }) => msg === 'the projector cannot continue')).toBe(true);
    await member.disconnect();
  });

  test('a consumer whose broker fails when it is asked for the coordinator of the group starts again', async () => {
    patchKafkajs();
    // given a connection that is reset when the request is sent, once
    const findCoordinator = 10;
    let resets = 0;
    const socketFactory: ISocketFactory = ({ host, port, onConnect }) => {
      const socket = connect({ host, port }, onConnect);
      const resetOrWrite = (bytes: Buffer) => {
        if (bytes.readInt16BE(4) !== findCoordinator || resets > 0)
          return Socket.prototype.write.call(socket, bytes);
        resets += 1;
        socket.destroy(new Error('reset'));
        return false;
      };
      return Object.assign(socket, { write: resetOrWrite });
    };
    const brokers = environment.config.KAFKA_BROKERS;
    const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING, socketFactory });
    const consumer = kafka.consumer({ groupId: environment.config.CONSUMER_GROUP });
    const fetching = new Promise<unknown>((resolve) => consumer.on(consumer.events.FETCH_START, resolve));
    const ended = new Promise<never>((_, reject) =>
      consumer.on(consumer.events.CRASH, ({ payload }) => void (payload.restart || reject(payload.error))),
    );
    await consumer.connect();
    await consumer.subscribe({ topics: [tags()] });
    await consumer.run({ eachBatch: async () => undefined });
    // then it joins the group
    await Promise.race([fetching, ended]);
    expect(resets).toBe(1);
    await consumer.disconnect();
  });

  test('a consumer that kafkajs restarts can neither pause nor resume a partition meanwhile', async () => {
    patchKafkajs();
    // given connections that are reset when records are fetched, until the consumer fails
    const fetch = 1;
    let isCut = true;
    const socketFactory = resettingSockets((api) => api === fetch && isCut);
    const brokers = environment.config.KAFKA_BROKERS;
    const retry = { retries: 0, initialRetryTime: 10 };
    const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING, socketFactory, retry });
    const consumer = kafka.consumer({ groupId: environment.config.CONSUMER_GROUP });
    const partitions = [{ topic: tags(), partitions: [0] }];
    // then both throw the error that assignment.ts ignores
    const crashed = new Promise<void>((resolve) =>
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        isCut = false;
        expect(payload.restart).toBe(true);
        const refusal = 'Consumer group was not initialized';
        expect(() => consumer.pause(partitions)).toThrow(refusal);
        expect(() => consumer.resume(partitions)).toThrow(refusal);
        resolve();
      }),
    );
    await consumer.connect();
    await consumer.subscribe({ topics: [tags()] });
    await consumer.run({ eachBatch: async () => undefined });
    await crashed;
    // and the consumer fetches again, as a member of its group
    await new Promise((resolve) => consumer.on(consumer.events.FETCH, resolve));
    await consumer.disconnect();
  });

  test('partitions without records, which never commit, count as complete', async () => {
    const projector = startProcess();
    await publish(created('tag', 'tag_1'));
    await applied();
    const empty = { topic: { $ne: tags() } };
    const incomplete = { $or: [{ completeTo: { $lt: new Date(Date.now() - 60_000) } }, { end: { $ne: 0 } }] };
    const count = (filter: object) => progressOf(environment.control).countDocuments(filter);
    await eventually(
      async () =>
        (await count(empty)) === environment.topics.length - 1 &&
        (await count({ ...empty, ...incomplete })) === 0,
    );
    expect(await projector.stop()).toBe(0);
  });
});

/** Connections that are reset instead of sending a request of an API that `isReset` names by its number. */
const resettingSockets =
  (isReset: (api: number) => boolean): ISocketFactory =>
  ({ host, port, onConnect }) => {
    const socket = connect({ host, port }, onConnect);
    const resetOrWrite = (bytes: Buffer) => {
      if (!isReset(bytes.readInt16BE(4))) return Socket.prototype.write.call(socket, bytes);
      socket.destroy(new Error('reset'));
      return false;
    };
    return Object.assign(socket, { write: resetOrWrite });
  };
