import { isTransientStoreError } from '../../../shared/store/transient-errors.ts';

/** What a broker answers to a client that it does not know, or that lacks a right. */
const refusals = [
  'UNSUPPORTED_SASL_MECHANISM',
  'ILLEGAL_SASL_STATE',
  'SASL_AUTHENTICATION_FAILED',
  'SECURITY_DISABLED',
  'TOPIC_AUTHORIZATION_FAILED',
  'GROUP_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
  'DELEGATION_TOKEN_AUTHORIZATION_FAILED',
];

/** The error and what caused it, outermost first: kafkajs wraps what it gives up on. */
export const errorChain = (error: unknown): Error[] =>
  error instanceof Error ? [error, ...errorChain(error.cause)] : [];

/** Whether the brokers refuse this client: its credentials, its SASL mechanism, or its rights. */
export const isKafkaRefusal = (error: unknown): boolean =>
  errorChain(error).some(
    (one) =>
      one.name === 'KafkaJSSASLAuthenticationError' ||
      refusals.includes(String((one as { type?: unknown }).type)),
  );

/** Whether a failure is the absence of the store or the brokers, which a restart would not end. */
export const isTransient = (error: unknown): boolean =>
  errorChain(error).some((one) => isTransientStoreError(one) || one.name.startsWith('KafkaJS')) &&
  !isKafkaRefusal(error);
