import { connect, Socket } from 'node:net';
import { type ISocketFactory, Kafka, logLevel, type PartitionAssigner, PartitionAssigners } from 'kafkajs';
import { patchKafkajs } from '../../shared/kafka/kafkajs-patch.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { fatalError } from '../support/fatal-error.ts';
import { type ApplyValues, startConsuming } from '../support/start-consuming.ts';
import { useProjector } from '../support/use-projector.ts';

/**
 * Known problems of kafkajs 2.2: work that stalls the consumer and its heartbeats, a consumer that dies while the
 * process lives, and one that dies because a broker was restarted. Other files provoke further problems: a consumer
 * that can be neither paused nor resumed while it restarts (assignment.test.ts), a handler that throws
 * (partition.test.ts), partitions that never commit (watermark.test.ts), records delivered after `stop`
 * (offsets.test.ts), an offset that the log has lost (start-offsets.test.ts), aborted transactions and compacted logs
 * (kafkajs-patch.test.ts), codecs (codecs.test.ts), and a session that expires unnoticed (faults/kills.test.ts).
 */
describe('a projector despite a problem of kafkajs', () => {
  const { environment, topic, startProcess, cli } = useProjector({ each: true, projectors: 0 });

  const tags = () => topic('tag');
  const contacts = () => topic('contact');
  const publishValues = (name: string, ...values: string[]) =>
    environment.producer.send({ topic: name, messages: values.map((value) => ({ key: value, value })) });

  test('applies other partitions and sends heartbeats while one partition is slow', async () => {
    const begun = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const apply: ApplyValues = async (name, record) => {
      if (name === tags()) {
        begun.resolve();
        await released.promise;
      }
      return record();
    };
    const { seen, fatal, heartbeats, stop } = await startConsuming(environment, [tags(), contacts()], apply);
    try {
      await publishValues(tags(), 'slow');
      await begun.promise;
      // then another partition continues, and the group hears from the member: the first heartbeat may be from before
      const before = heartbeats();
      for (let count = 1; heartbeats() < before + 2; count += 1) {
        await publishValues(contacts(), String(count));
        await eventually(() => seen(contacts()).length === count);
      }
      released.resolve();
      await eventually(() => seen(tags()).length === 1);
      expect(fatal).toEqual([]);
    } finally {
      released.resolve();
      await stop();
    }
  });

  test('ends with an error that names the other client if its consumer cannot continue', async () => {
    // given a group whose members use another partition assigner
    const otherAssigner: PartitionAssigner = (config) => ({
      ...PartitionAssigners.roundRobin(config),
      name: 'other',
      protocol: ({ topics }) => ({
        ...PartitionAssigners.roundRobin(config).protocol({ topics }),
        name: 'other',
      }),
    });
    const brokers = environment.config.KAFKA_BROKERS;
    const kafka = new Kafka({ clientId: 'foreign', brokers, logLevel: logLevel.NOTHING });
    const member = kafka.consumer({
      groupId: environment.config.CONSUMER_GROUP,
      partitionAssigners: [otherAssigner],
    });
    // A disconnect between the join and the first fetch would leave the consumer running.
    const fetching = new Promise((resolve) => member.on(member.events.FETCH_START, resolve));
    await member.connect();
    await member.subscribe({ topics: [tags()] });
    await member.run({ eachMessage: async () => undefined });
    await fetching;
    // when the group rejects a projector, permanently
    const projector = startProcess();
    expect(await projector.exited).toBe(1);
    const names = /another client is in the consumer group.*: client foreign on [\d.]+ \(protocol: other\)/;
    expect(fatalError(projector)?.message).toMatch(names);
    // On a slow machine a status may show no member: it waits for Kafka for three seconds.
    await eventually(async () => {
      const { text } = await cli('status');
      return names.test(text) || notYet(text);
    });
    await member.disconnect();
  });

  test('starts its consumer again after an error of the request for the coordinator', async () => {
    patchKafkajs();
    // given a connection that is reset when the request is sent, once
    const findCoordinator = 10;
    let requests = 0;
    const socketFactory = resettingSockets((api) => {
      if (api === findCoordinator) requests += 1;
      return api === findCoordinator && requests === 1;
    });
    const brokers = environment.config.KAFKA_BROKERS;
    const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING, socketFactory });
    const consumer = kafka.consumer({ groupId: environment.config.CONSUMER_GROUP });
    const fetching = new Promise<unknown>((resolve) => consumer.on(consumer.events.FETCH_START, resolve));
    const ended = new Promise<never>((_, reject) =>
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        if (!payload.restart) reject(payload.error);
      }),
    );
    await consumer.connect();
    await consumer.subscribe({ topics: [tags()] });
    await consumer.run({ eachBatch: async () => undefined });
    await Promise.race([fetching, ended]);
    expect(requests).toBeGreaterThan(0);
    await consumer.disconnect();
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
