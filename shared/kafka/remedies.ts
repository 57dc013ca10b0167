import { isNativeError } from 'node:util/types';
import { errorChain, errorMessage } from '../runtime/error-message.ts';
import { storeRemedyFor } from '../store/remedies.ts';
import { advertisedAddress } from './advertised.ts';
import { isCertificateError, isOtherProtocol } from './refusals.ts';
import { authenticationErrors, isKafkaError, permissionErrors } from './transient-errors.ts';

const otherRights = 'docs/deploy.md ("Users and rights") has the rights of the other roles';

/** By the names of errors, and by the types of Kafka's answers. */
const remedies: { codes: string[]; remedy: string }[] = [
  {
    codes: ['OtherProjectionVersion'],
    remedy:
      'A rebuild is due: support-cli rebuild start, then start this release with the GENERATION that it prints',
  },
  {
    codes: ['NoSuchGeneration'],
    remedy: 'Unset GENERATION to follow the active one; support-cli rebuild status lists them',
  },
  {
    codes: ['RegistryLost'],
    remedy:
      'Restore the collection generations from a backup, or rebuild it from the remains: support-cli rebuild ' +
      'restore-registry. A new read model needs another DATABASE_NAME and CONSUMER_GROUP',
  },
  {
    codes: ['ProgressLost'],
    remedy:
      'Restore the collection progress from a backup, or build another generation: support-cli rebuild start',
  },
  {
    codes: ['GROUP_AUTHORIZATION_FAILED'],
    remedy: `The Kafka user of a projector needs Read and Describe on its consumer group. ${otherRights}`,
  },
  {
    codes: permissionErrors,
    remedy: `The Kafka user of a projector needs Read and Describe on its topics. ${otherRights}`,
  },
  {
    codes: ['INVALID_SESSION_TIMEOUT'],
    remedy:
      'Set KAFKA_SESSION_TIMEOUT_MS between group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers',
  },
  {
    codes: ['GROUP_MAX_SIZE_REACHED'],
    remedy: 'Run fewer projectors, or raise group.max.size of the brokers',
  },
  {
    codes: ['INCONSISTENT_GROUP_PROTOCOL'],
    remedy:
      'The group has members of another kind, or is a group of another type, such as a share group, which keeps its id while ' +
      'it is empty: kafka-groups.sh --list names the type. Set CONSUMER_GROUP to another id, or delete that group',
  },
  {
    codes: authenticationErrors,
    remedy:
      'Check KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD and KAFKA_SSL against the listener ' +
      'that KAFKA_BROKERS names',
  },
];

const kafkaCertificates =
  'Check KAFKA_TLS_CA (or NODE_EXTRA_CA_CERTS), KAFKA_TLS_CERT and KAFKA_TLS_KEY against the certificates of the brokers ' +
  'and of the token issuer, which may have been renewed';

const storeCertificates =
  "Check tlsCAFile (or NODE_EXTRA_CA_CERTS) and tlsCertificateKeyFile in MONGODB_URL against MongoDB's certificates, which " +
  'may have been renewed';

const listenerProtocol =
  'Check KAFKA_SSL and KAFKA_SASL_MECHANISM against the listener that KAFKA_BROKERS names; a proxy does the same while ' +
  'no broker runs behind it';

const unreachable = (address: string) =>
  `A broker advertises ${address}, which is not in KAFKA_BROKERS: if it runs, check its advertised.listeners, and whether this host ` +
  'resolves and reaches that address';

/** The remedy for an error of MongoDB or the brokers; null if none is known. */
export function remedyFor(error: unknown): string | null {
  if (isCertificateError(error)) return isKafkaError(error) ? kafkaCertificates : storeCertificates;
  if (isOtherProtocol(error)) return listenerProtocol;
  const address = advertisedAddress(error);
  if (address !== null) return unreachable(address);
  const ofStore = storeRemedyFor(error);
  if (ofStore !== null) return ofStore;
  const codes = errorChain(error).flatMap((cause) => {
    const { name, type = '' } = cause as { name: string; type?: string };
    return [name, type];
  });
  return remedies.find((item) => item.codes.some((code) => codes.includes(code)))?.remedy ?? null;
}

/** The error with its remedy in its message, if one is known. */
export function withRemedy(error: unknown): Error {
  if (isNativeError(error) && explained(error) === error.message) return error;
  return new Error(explained(error), { cause: error });
}

/** The message of an error, with the setting or the right that mends it if that is known. */
export function explained(error: unknown): string {
  const message = errorMessage(error);
  const remedy = remedyFor(error);
  return remedy === null || message.includes(remedy) ? message : `${message}. ${remedy}`;
}
