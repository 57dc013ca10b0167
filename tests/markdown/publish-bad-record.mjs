import { Kafka } from 'kafkajs';

/** Publishes a record that becomes a dead letter. */
const producer = new Kafka({ brokers: [process.env.KAFKA_BROKERS], logLevel: 0 }).producer();
await producer.connect();
await producer.send({ topic: 'support.contacts', messages: [{ key: 'con_bad', value: '{' }] });
await producer.disconnect();
