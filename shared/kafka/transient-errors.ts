import { isNativeError } from 'node:util/types';
import { isTransientStoreError } from '../store/transient-errors.ts';

/** The errors of a client that a broker does not authenticate, by name or type. */
export const authenticationErrors = [
  'UNSUPPORTED_SASL_MECHANISM',
  'ILLEGAL_SASL_STATE',
  'SASL_AUTHENTICATION_FAILED',
  'SECURITY_DISABLED',
  'KafkaJSSASLAuthenticationError',
];

/** The errors of a client that lacks a permission, by type. */
export const permissionErrors = [
  'TOPIC_AUTHORIZATION_FAILED',
  'GROUP_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
  'DELEGATION_TOKEN_AUTHORIZATION_FAILED',
];

/** The error and its causes, outermost first. kafkajs wraps an error when it gives up its retries. */
export const errorChain = (error: unknown): Error[] =>
  isNativeError(error) ? [error, ...errorChain(error.cause)] : [];

/** Whether the error is of the Kafka client, and not of MongoDB. */
export const isKafkaError = (error: unknown): boolean =>
  errorChain(error).some(({ name }) => name.startsWith('KafkaJS'));

/** Whether the brokers reject this client: its credentials, its SASL mechanism or its permissions. */
export const isKafkaAuthorizationError = (error: unknown): boolean =>
  errorChain(error).some(({ name, type = '' }: Error & { type?: string }) =>
    [...authenticationErrors, ...permissionErrors].some((refusal) => refusal === name || refusal === type),
  );

/** Errors of kafkajs for brokers that do not respond, which it does not mark as retriable. */
const noResponseErrors = ['KafkaJSGroupCoordinatorNotFound', 'KafkaJSTimeout', 'KafkaJSLockTimeout'];

const isTransientKafkaError = (error: Error & { retriable?: unknown }): boolean =>
  error.retriable === true || noResponseErrors.includes(error.name);

/** Whether MongoDB or the brokers are temporarily unavailable, which a restart would not change. */
export const isTransient = (error: unknown): boolean =>
  errorChain(error).some((cause) => isTransientStoreError(cause) || isTransientKafkaError(cause)) &&
  !isKafkaAuthorizationError(error);
