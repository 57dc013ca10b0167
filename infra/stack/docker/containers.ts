import { GenericContainer, Wait, getContainerRuntimeClient } from 'testcontainers';
import type { StartedTestContainer } from 'testcontainers';
import { freePorts } from '../native/ports.ts';
import { runLabel } from './engine.ts';
import { images } from './images.ts';

/** How long a container may take until it serves, in milliseconds. */
const startLimitMs = 120_000;

/**
 * One node that is broker and controller. A client is told the broker's address by the broker itself, so the
 * port on the host has to be known before it starts; it talks to itself through a listener of its own.
 */
export async function kafkaContainer(run: string): Promise<StartedTestContainer> {
  const [port = 0] = await freePorts(1);
  const host = (await getContainerRuntimeClient()).info.containerRuntime.host;
  return new GenericContainer(images.kafka)
    .withEnvironment({
      KAFKA_PROCESS_ROLES: 'broker,controller',
      KAFKA_NODE_ID: '1',
      KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
      KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
      KAFKA_LISTENERS: 'CLIENT://:9092,INTERNAL://localhost:9094,CONTROLLER://localhost:9093',
      KAFKA_ADVERTISED_LISTENERS: `CLIENT://${host}:${port},INTERNAL://localhost:9094`,
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT',
      KAFKA_INTER_BROKER_LISTENER_NAME: 'INTERNAL',
      KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
      KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
      KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS: '4',
      KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
      KAFKA_TRANSACTION_STATE_LOG_NUM_PARTITIONS: '4',
      KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
      KAFKA_LOG_RETENTION_MS: '-1',
    })
    .withLabels({ [runLabel]: run })
    .withExposedPorts({ container: 9092, host: port })
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .withStartupTimeout(startLimitMs)
    .start();
}

const initiate = `
  try { rs.status() } catch { rs.initiate({ _id: 'rs0', members: [{ _id: 0, host: 'localhost:27017' }] }) }
  while (!db.hello().isWritablePrimary) sleep(50)
`;

/** A replica set of one node: what the product needs of MongoDB, writes by majority, is there only in a set. */
export async function mongoContainer(run: string): Promise<StartedTestContainer> {
  const container = await new GenericContainer(images.mongo)
    .withCommand(['--replSet', 'rs0', '--bind_ip_all'])
    .withLabels({ [runLabel]: run })
    .withExposedPorts(27017)
    .withWaitStrategy(Wait.forListeningPorts())
    .withStartupTimeout(startLimitMs)
    .start();
  const { exitCode, output } = await container.exec(['mongosh', '--quiet', '--eval', initiate]);
  if (exitCode === 0) return container;
  await container.stop();
  throw new Error(`the replica set could not be initiated: ${output}`);
}
