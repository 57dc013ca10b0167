import type { ErrorClass } from '../store/error-classes.ts';

type ErrorMeaning = { errorClass: ErrorClass; fix: string | null };

const otherRights = 'docs/deploy.md ("Users and rights") has the rights of the other roles';

const entries = (errorClass: ErrorClass, types: string[], fix: string | null = null) =>
  types.map((type): [string, ErrorMeaning] => [type, { errorClass, fix }]);

/**
 * The meaning of Kafka's answers, by type, and of errors of kafkajs, by name. Every other answer may pass: a broker
 * fails at one request, or a release adds a code.
 */
export const kafkaTypes: ReadonlyMap<string, ErrorMeaning> = new Map([
  // A client that a broker does not authenticate.
  ...entries(
    'unauthorized',
    [
      'UNSUPPORTED_SASL_MECHANISM',
      'ILLEGAL_SASL_STATE',
      'SASL_AUTHENTICATION_FAILED',
      'SECURITY_DISABLED',
      'KafkaJSSASLAuthenticationError',
    ],
    'Check KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD and KAFKA_SSL against the listener ' +
      'that KAFKA_BROKERS names',
  ),
  // A client that lacks a permission.
  ...entries(
    'unauthorized',
    ['GROUP_AUTHORIZATION_FAILED'],
    `The Kafka user of a projector needs Read and Describe on its consumer group. ${otherRights}`,
  ),
  ...entries(
    'unauthorized',
    [
      'TOPIC_AUTHORIZATION_FAILED',
      'CLUSTER_AUTHORIZATION_FAILED',
      'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
      'DELEGATION_TOKEN_AUTHORIZATION_FAILED',
    ],
    `The Kafka user of a projector needs Read and Describe on its topics. ${otherRights}`,
  ),
  // Brokers that do not respond. kafkajs does not mark these errors as retriable.
  ...entries('transient', ['KafkaJSGroupCoordinatorNotFound', 'KafkaJSTimeout', 'KafkaJSLockTimeout']),
  // A group that refuses this kind of member, or any further member.
  ...entries(
    'wrong-command',
    ['INCONSISTENT_GROUP_PROTOCOL'],
    'The group has members of another kind, or is a group of another type, such as a share group, which keeps its id while ' +
      'it is empty: kafka-groups.sh --list names the type. Set CONSUMER_GROUP to another id, or delete that group',
  ),
  ...entries(
    'wrong-command',
    ['GROUP_MAX_SIZE_REACHED'],
    'Run fewer projectors, or raise group.max.size of the brokers',
  ),
  ...entries(
    'wrong-command',
    ['INVALID_SESSION_TIMEOUT'],
    'Set KAFKA_SESSION_TIMEOUT_MS between group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers',
  ),
  ...entries('wrong-command', [
    'FENCED_INSTANCE_ID',
    // A name, a value or a setting that brokers do not accept.
    'INVALID_TOPIC_EXCEPTION',
    'INVALID_GROUP_ID',
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
  ]),
]);

/** The fixes for errors of the project's own, by name. */
export const ownFixes: ReadonlyMap<string, string> = new Map([
  [
    'OtherProjectionVersion',
    'A rebuild is due: support-cli rebuild start, then start this release with the GENERATION that it prints',
  ],
  ['NoSuchGeneration', 'Unset GENERATION to follow the active one; support-cli rebuild status lists them'],
  [
    'RegistryLost',
    'Restore the control database from a backup, or rebuild into another DATABASE_NAME (docs/recover.md, "A lost ' +
      'collection")',
  ],
  [
    'CollectionsLost',
    'Restore them from a backup, then accept that: support-cli accept lost; or rebuild: support-cli rebuild start ' +
      '(docs/recover.md, "A lost collection")',
  ],
  [
    'ProgressLost',
    'Restore the collection progress from a backup, or build another generation: support-cli rebuild start',
  ],
]);
