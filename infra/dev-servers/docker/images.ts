import { kafkaVersion } from '../native/kafka-pom.ts';

/** The images of docker-compose.yml, and what the services' own is based on; a test holds them equal. */
export const images = {
  kafka: `apache/kafka:${kafkaVersion}`,
  mongo: 'mongo:8.0.17',
  node: 'node:24.21.0-bookworm-slim',
};
