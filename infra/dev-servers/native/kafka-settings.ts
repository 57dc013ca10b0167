/** The broker's version. A test checks that docker-compose.yml names the image of the same version. */
export const kafkaVersion = '4.4.0';

/** Kafka logs by SLF4J 1, and its packages contain no logger. */
const log4jVersion = '2.25.5';

type Dependency = [group: string, artifact: string, version: string];

/** A Maven project that only lists dependencies. */
export const mavenProject = (artifactId: string, dependencies: Dependency[]): string =>
  `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>support-read-models</groupId>
  <artifactId>${artifactId}</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
${dependencies.map(toXml).join('\n')}
  </dependencies>
</project>
`;

const toXml = ([group, artifact, version]: Dependency) =>
  `    <dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;

/** The broker, its storage tool and its logging. */
export const pom = mavenProject('kafka', [
  ['org.apache.kafka', 'kafka_2.13', kafkaVersion],
  ['org.apache.kafka', 'kafka-tools', kafkaVersion],
  ['org.apache.logging.log4j', 'log4j-slf4j-impl', log4jVersion],
]);

/**
 * The settings of the broker, as a process and in Docker. Internal topics have few partitions, because each costs files
 * and start-up time. Records never expire: a demonstration may publish events dated years ago.
 */
export const brokerSettings = {
  'process.roles': 'broker,controller',
  'node.id': '1',
  'auto.create.topics.enable': 'false',
  'offsets.topic.replication.factor': '1',
  'offsets.topic.num.partitions': '4',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'transaction.state.log.num.partitions': '4',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',
  // No further consumer joins the group of a test. A wait for one would cost each test 3 s.
  'group.initial.rebalance.delay.ms': '0',
  // Lets a test detect a killed consumer after 1 s instead of the default minimum of 6 s.
  'group.min.session.timeout.ms': '1000',
  'log.retention.ms': '-1',
  // A killed broker can register again only after its old session has ended: 9 s by default.
  'broker.session.timeout.ms': '3000',
  'broker.heartbeat.interval.ms': '500',
  // Compacts within a second. Otherwise a test of compacted topics would wait for minutes.
  'log.initial.task.delay.ms': '500',
  'log.cleaner.backoff.ms': '500',
  'log.cleaner.dedupe.buffer.size': '33554432',
};

/** A process that is broker and controller, and its loopback ports. */
export type KafkaNode = { id: number; broker: number; controller: number };

/** The nodes of a cluster, and the settings that each node has in addition to those of a single node. */
export type KafkaCluster = { nodes: KafkaNode[]; settings: Record<string, string> };

/** The settings of one node, by default of a cluster's only node. */
export const serverProperties = (
  dataDir: string,
  node: KafkaNode,
  cluster: KafkaCluster = { nodes: [node], settings: {} },
): string => {
  const settings = {
    ...brokerSettings,
    'node.id': String(node.id),
    'controller.quorum.voters': cluster.nodes
      .map(({ id, controller }) => `${id}@127.0.0.1:${controller}`)
      .join(),
    'controller.listener.names': 'CONTROLLER',
    listeners: `PLAINTEXT://127.0.0.1:${node.broker},CONTROLLER://127.0.0.1:${node.controller}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${node.broker}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': dataDir,
    ...cluster.settings,
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
};

/**
 * Logs warnings to the standard output, each with the first lines of its exception. So the end of the log shows why a
 * broker could not start.
 */
export const log4j = `\
status=error
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d{ISO8601} %p %c{1} %m%throwable{3}%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
`;
