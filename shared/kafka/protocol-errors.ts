import { createRequire } from 'node:module';
import { errorChain } from '../runtime/error-message.ts';

const require = createRequire(import.meta.url);

/** The error of kafkajs for a code of Kafka's protocol. */
export type ProtocolError = Error & { retriable: boolean; type: string };

/** Creates the error of kafkajs for a code. The package declares no type for this function. */
export const { createErrorFromCode } = require('kafkajs/src/protocol/error') as {
  createErrorFromCode: (code: number) => ProtocolError;
};

/** The type of an error. kafkajs has one type for all codes of later releases, so their message names the code. */
export const protocolErrorText = ({ type, message }: ProtocolError): string =>
  type === 'KAFKAJS_UNKNOWN_ERROR_CODE' ? message : type;

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
