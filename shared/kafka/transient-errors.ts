import { errorChain } from '../runtime/error-message.ts';
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

/**
 * Kafka's answers, beside refusals, to a request that is wrong, and is wrong again when it is repeated, by type. Every
 * other answer may pass: a broker fails at one request, or a release adds a code.
 */
const permanentAnswers = new Set([
  // A name, a value or a setting that brokers do not accept.
  'INVALID_TOPIC_EXCEPTION',
  'INVALID_GROUP_ID',
  'INVALID_SESSION_TIMEOUT',
  'INVALID_COMMIT_OFFSET_SIZE',
  'OFFSET_METADATA_TOO_LARGE',
  'INVALID_FETCH_SIZE',
  'INVALID_REQUEST',
  'INVALID_REQUIRED_ACKS',
  'INVALID_CONFIG',
  'INVALID_PARTITIONS',
  'INVALID_REPLICATION_FACTOR',
  'INVALID_REPLICA_ASSIGNMENT',
  'INVALID_PRINCIPAL_TYPE',
  'INVALID_TRANSACTION_TIMEOUT',
  'POLICY_VIOLATION',
  'TOPIC_ALREADY_EXISTS',
  'TOPIC_DELETION_DISABLED',
  // A record that no log takes.
  'INVALID_RECORD',
  'INVALID_TIMESTAMP',
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  // A request that these brokers do not know.
  'UNSUPPORTED_VERSION',
  'UNSUPPORTED_FOR_MESSAGE_FORMAT',
  'UNSUPPORTED_COMPRESSION_TYPE',
  // A group that admits no such member, or no further one.
  'INCONSISTENT_GROUP_PROTOCOL',
  'GROUP_MAX_SIZE_REACHED',
  'FENCED_INSTANCE_ID',
]);

/** Other errors of kafkajs are its own, such as a response that it cannot decode. */
function isTransientKafkaError({ name, type, retriable }: KafkaError): boolean {
  if (retriable === true || noResponseErrors.includes(name)) return true;
  return typeof type === 'string' && name.startsWith('KafkaJS') && !permanentAnswers.has(type);
}

type KafkaError = Error & { retriable?: unknown; type?: unknown };

/** Whether MongoDB or the brokers are temporarily unavailable, which a restart would not change. */
export const isTransient = (error: unknown): boolean =>
  errorChain(error).some((cause) => isTransientStoreError(cause) || isTransientKafkaError(cause)) &&
  !isKafkaAuthorizationError(error);
