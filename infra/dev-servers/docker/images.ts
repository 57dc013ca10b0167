import { kafkaVersion } from '../native/kafka-pom.ts';

/** The images that docker-compose.yml names, and the base image of the services. A test compares them. */
export const images = {
  kafka: `apache/kafka:${kafkaVersion}`,
  mongo: 'mongo:8.0.17',
  node: 'node:24.21.0-bookworm-slim',
};
