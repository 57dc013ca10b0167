import { randomBytes } from 'node:crypto';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';
import { brokerSettings } from '../native/kafka-settings.ts';
import { freePort } from '../native/ports.ts';
import { images, runLabel } from './engine.ts';

/** The memory of each server. docker-compose.yml allows no more. */
const memoryGigabytes = 1.5;
/** The processes of each server. docker-compose.yml allows no more. */
const processesMax = 512;

/**
 * A server of one run, with limits on memory and processes. Publishes its ports on loopback only; Testcontainers
 * would publish them on all interfaces.
 */
export class StackContainer extends GenericContainer {
  constructor(image: string, run: string) {
    super(image);
    this.withLabels({ [runLabel]: run }).withResourcesQuota({ memory: memoryGigabytes });
    this.hostConfig.PidsLimit = processesMax;
  }

  override withExposedPorts(...ports: Parameters<GenericContainer['withExposedPorts']>): this {
    super.withExposedPorts(...ports);
    const bindings = this.hostConfig.PortBindings as Record<string, { HostPort: string }[]>;
    for (const published of Object.values(bindings).flat()) {
      Object.assign(published, { HostIp: '127.0.0.1' });
    }
    return this;
  }

  /** The limits and ports that the engine receives. */
  get limits() {
    const { Memory, PidsLimit } = this.hostConfig;
    return { Memory, PidsLimit, PortBindings: this.hostConfig.PortBindings as unknown };
  }
}

/** The image reads settings from variables. */
function environmentOf(settings: Record<string, string>): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(settings)) {
    variables[`KAFKA_${name.toUpperCase().replaceAll('.', '_')}`] = value;
  }
  return variables;
}

/** The maximum time until a container serves, in milliseconds. */
const startLimitMs = 120_000;

/**
 * Starts one node that is broker and controller. The broker advertises its address to clients, so the port on this
 * machine is chosen before it starts. The node reaches itself by a listener of its own.
 */
export async function startKafka(run: string): Promise<string> {
  const port = await freePort();
  const host = (await getContainerRuntimeClient()).info.containerRuntime.host;
  await new StackContainer(images.kafka, run)
    .withEnvironment({
      ...environmentOf(brokerSettings),
      KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
      KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
      KAFKA_LISTENERS: 'CLIENT://:9092,INTERNAL://localhost:9094,CONTROLLER://localhost:9093',
      KAFKA_ADVERTISED_LISTENERS: `CLIENT://${host}:${port},INTERNAL://localhost:9094`,
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT',
      KAFKA_INTER_BROKER_LISTENER_NAME: 'INTERNAL',
    })
    .withExposedPorts({ container: 9092, host: port })
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .withStartupTimeout(startLimitMs)
    .start();
  return `${host}:${port}`;
}

/**
 * A replica set with users needs a shared key file. The only member of this set creates a new key at each start.
 * docker-compose.yml does the same.
 */
export const withKeyFile = `\
rm -f /tmp/keyfile
head -c 96 /dev/urandom | base64 > /tmp/keyfile
chmod 400 /tmp/keyfile
chown mongodb:mongodb /tmp/keyfile
exec docker-entrypoint.sh "$@"
`;

const initiate = `
  db.getSiblingDB('admin').auth(process.env.MONGO_INITDB_ROOT_USERNAME, process.env.MONGO_INITDB_ROOT_PASSWORD)
  try { rs.status() } catch { rs.initiate({ _id: 'rs0', members: [{ _id: 0, host: 'localhost:27017' }] }) }
  while (!db.hello().isWritablePrimary) sleep(50)
`;

/** The image creates the user on a temporary server, then restarts. So the command is repeated, up to 60 times. */
const initiateWithRetries = `
  for attempt in {1..60}; do mongosh --quiet --eval "$0" && exit 0; sleep 1; done
  exit 1
`;

/**
 * Starts a replica set of one node: the services write with majority concern, which MongoDB has only in a replica set.
 * The set names its member by an address inside the container, so clients need a direct connection.
 */
export async function startStore(run: string): Promise<string> {
  const user = 'support';
  const password = randomBytes(16).toString('hex');
  const container = await new StackContainer(images.mongo, run)
    .withEntrypoint(['bash', '-euc', withKeyFile, 'docker-entrypoint.sh'])
    .withCommand(['--replSet', 'rs0', '--bind_ip_all', '--keyFile', '/tmp/keyfile'])
    .withEnvironment({ MONGO_INITDB_ROOT_USERNAME: user, MONGO_INITDB_ROOT_PASSWORD: password })
    .withExposedPorts(27017)
    .withWaitStrategy(Wait.forListeningPorts())
    .withStartupTimeout(startLimitMs)
    .start();
  const { exitCode, output } = await container.exec(['bash', '-c', initiateWithRetries, initiate]);
  if (exitCode !== 0) throw new Error(`MongoDB's replica set could not be initiated: ${output}`);
  const host = `${container.getHost()}:${container.getMappedPort(27017)}`;
  return `mongodb://${user}:${password}@${host}/?directConnection=true`;
}
