import { kafkaVersion } from '../native/kafka-pom.ts';

/** The images of docker-compose.yml; a test holds the two equal. */
export const images = { kafka: `apache/kafka:${kafkaVersion}`, mongo: 'mongo:8' };
