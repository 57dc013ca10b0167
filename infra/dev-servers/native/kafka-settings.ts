/**
 * One node that is broker and controller. Topics are made by the operator's verb only, as in production;
 * internal topics have few partitions because each costs files and start-up time, and one replica because
 * there is one node. Nothing expires by itself: a demonstration may publish events dated years ago.
 */
export const serverProperties = (dataDir: string, ports: { broker: number; controller: number }): string =>
  [
    'process.roles=broker,controller',
    'node.id=1',
    `controller.quorum.voters=1@127.0.0.1:${ports.controller}`,
    'controller.listener.names=CONTROLLER',
    `listeners=PLAINTEXT://127.0.0.1:${ports.broker},CONTROLLER://127.0.0.1:${ports.controller}`,
    `advertised.listeners=PLAINTEXT://127.0.0.1:${ports.broker}`,
    'listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name=PLAINTEXT',
    `log.dirs=${dataDir}`,
    'auto.create.topics.enable=false',
    'offsets.topic.replication.factor=1',
    'offsets.topic.num.partitions=4',
    'transaction.state.log.replication.factor=1',
    'transaction.state.log.min.isr=1',
    'transaction.state.log.num.partitions=4',
    'share.coordinator.state.topic.replication.factor=1',
    'share.coordinator.state.topic.min.isr=1',
    // Consumers of a test join alone: waiting for others would cost each test 3 s.
    'group.initial.rebalance.delay.ms=0',
    // A killed consumer is missed as soon as its test says so, not after 6 s at the least.
    'group.min.session.timeout.ms=1000',
    'log.retention.ms=-1',
    // A killed broker may register again only when its old session has ended: 9 s unless told otherwise.
    'broker.session.timeout.ms=3000',
    'broker.heartbeat.interval.ms=500',
    // Compaction within a second, so that a test of compacted topics need not wait for minutes.
    'log.initial.task.delay.ms=500',
    'log.cleaner.backoff.ms=500',
    'log.cleaner.dedupe.buffer.size=33554432',
    '',
  ].join('\n');

/** Warnings and the broker's own start and stop to a file that is started anew at 10 MB. */
export const log4j = (file: string): string =>
  [
    'status=error',
    'appender.file.type=RollingFile',
    'appender.file.name=file',
    `appender.file.fileName=${file}`,
    `appender.file.filePattern=${file}.%i`,
    'appender.file.layout.type=PatternLayout',
    'appender.file.layout.pattern=%d{ISO8601} %p %c{1} %m%n',
    'appender.file.policies.type=Policies',
    'appender.file.policies.size.type=SizeBasedTriggeringPolicy',
    'appender.file.policies.size.size=10MB',
    'appender.file.strategy.type=DefaultRolloverStrategy',
    'appender.file.strategy.max=2',
    'rootLogger.level=warn',
    'rootLogger.appenderRef.file.ref=file',
    'logger.server.name=kafka.server',
    'logger.server.level=info',
    '',
  ].join('\n');
