import { createRequire } from 'node:module';
import { errorChain } from '../runtime/error-message.ts';

const require = createRequire(import.meta.url);

/** kafkajs's error for a code of Kafka's protocol; the package declares no type for it. */
export const { createErrorFromCode } = require('kafkajs/src/protocol/error') as {
  createErrorFromCode: (code: number) => Error & { retriable: boolean; type: string };
};

/** Kafka's code for a topic that this client may not use as it asks to. */
export const topicAuthorizationFailed = 29;

/** The error of brokers that refuse this client some topics: kafkajs's own does not name them. */
export function topicsRefused(topics: string[]): Error {
  const error = createErrorFromCode(topicAuthorizationFailed);
  const named = [...new Set(topics)].toSorted();
  error.message = `Not authorized to access topics: ${named.join(', ')}`;
  return Object.assign(error, { topics: named });
}

/** The topics that such an error names; empty for any other error. */
export const refusedTopics = (error: unknown): string[] =>
  errorChain(error).flatMap((cause) => (cause as { topics?: string[] }).topics ?? []);
