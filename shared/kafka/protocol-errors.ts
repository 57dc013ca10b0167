import { createRequire } from 'node:module';
import { errorChain } from '../runtime/error-message.ts';

const require = createRequire(import.meta.url);

/** Creates the error of kafkajs for a code of Kafka's protocol. The package declares no type for this function. */
export const { createErrorFromCode } = require('kafkajs/src/protocol/error') as {
  createErrorFromCode: (code: number) => Error & { retriable: boolean; type: string };
};

/** Kafka's code for a topic on which this client lacks a right. */
export const topicAuthorizationFailed = 29;

/** Creates the error of brokers that refuse topics to this client. The error of kafkajs would not name the topics. */
export function topicsRefused(topics: string[]): Error {
  const error = createErrorFromCode(topicAuthorizationFailed);
  const named = [...new Set(topics)].toSorted();
  error.message = `Not authorized to access topics: ${named.join(', ')}`;
  return Object.assign(error, { topics: named });
}

/** The topics that such an error names; empty for any other error. */
export const refusedTopics = (error: unknown): string[] =>
  errorChain(error).flatMap((cause) => (cause as { topics?: string[] }).topics ?? []);
