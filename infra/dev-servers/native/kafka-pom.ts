/** The broker's version. A test checks that docker-compose.yml names the image of the same version. */
export const kafkaVersion = '4.1.1';

/** The version of Log4j that Kafka's own distribution contains. */
const log4jVersion = '2.24.3';

const dependency = (group: string, artifact: string, version: string) =>
  `    <dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;

/** A Maven project that only lists dependencies: the broker, its storage tool and its logging. */
export const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>support-read-models</groupId>
  <artifactId>kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
${dependency('org.apache.kafka', 'kafka_2.13', kafkaVersion)}
${dependency('org.apache.kafka', 'kafka-tools', kafkaVersion)}
${dependency('org.apache.logging.log4j', 'log4j-slf4j-impl', log4jVersion)}
  </dependencies>
</project>
`;
