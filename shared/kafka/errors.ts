import { isNativeError } from 'node:util/types';
import { errorChain, errorMessage } from '../runtime/error-message.ts';
import {
  asClass,
  certificateError,
  type Classified,
  classifyChain,
  type ErrorClass,
  transientClasses,
} from '../store/error-classes.ts';
import { classifyOne, classifyStoreError, messageWithFix } from '../store/errors.ts';
import { advertisedAddress } from './advertised.ts';
import { kafkaTypes, ownFixes } from './error-types.ts';
import { otherProtocol } from './listener-protocol.ts';

type KafkaError = Error & { retriable?: unknown; type?: unknown; code?: unknown };

const certificateFix =
  'Check KAFKA_TLS_CA (or NODE_EXTRA_CA_CERTS), KAFKA_TLS_CERT and KAFKA_TLS_KEY against the certificates of the brokers ' +
  'and of the token issuer, which may have been renewed';

const listenerProtocolFix =
  'Check KAFKA_SSL and KAFKA_SASL_MECHANISM against the listener that KAFKA_BROKERS names; a proxy does the same while ' +
  'no broker runs behind it';

const unreachableFix = (address: string) =>
  `A broker advertises ${address}, which is not in KAFKA_BROKERS: if it runs, check its advertised.listeners, and whether this host ` +
  'resolves and reaches that address';

/** Whether an error, or one of its causes, comes from the brokers or from kafkajs. */
export const isOfKafka = (error: unknown): boolean =>
  errorChain(error).some(({ name }) => name.startsWith('KafkaJS'));

/** Classifies an error of work on the brokers or MongoDB, and of the code around it. */
export function classify(error: unknown): Classified {
  if (isOfKafka(error)) {
    const kafkaClass = classifyChain(
      errorChain(error),
      (cause) => classifyOfKafka(cause) ?? classifyOne(cause),
    );
    if (kafkaClass) return kafkaClass;
  }
  const { errorClass, fix } = classifyStoreError(error);
  return { errorClass, fix: fix ?? fixOfOwnError(error) };
}

function fixOfOwnError(error: unknown): string | null {
  for (const { name } of errorChain(error)) {
    const fix = ownFixes.get(name);
    if (fix !== undefined) return fix;
  }
  return null;
}

/** The class of an error of kafkajs, without its causes; null for one of its own, such as a bad response. */
// eslint-disable-next-line complexity -- a table of guards, in order of precedence
function classifyOfKafka(error: KafkaError): Classified | null {
  const { name, type, retriable, code } = error;
  const entry = kafkaTypes.get(String(type)) ?? kafkaTypes.get(name);
  if (code === otherProtocol) return asClass('refuses-connection', listenerProtocolFix);
  const certificate = certificateError(error, certificateFix);
  if (certificate) return certificate;
  if (entry?.errorClass === 'unauthorized') return asClass(entry.errorClass, entry.fix);
  const advertised = retriable === true ? advertisedAddress(error) : null;
  if (advertised !== null) return asClass('transient', unreachableFix(advertised));
  if (retriable === true) return asClass('transient', entry?.fix);
  if (entry) return asClass(entry.errorClass, entry.fix);
  return typeof type === 'string' && name.startsWith('KafkaJS') ? asClass('transient') : null;
}

/** Whether MongoDB or the brokers are temporarily unavailable, which a restart would not change. */
export const isTransient = (error: unknown): boolean => transientClasses.includes(classify(error).errorClass);

/** A store refuses a document, for example, if saved progress breaks a rule of an operator. */
const refusals: readonly ErrorClass[] = ['unauthorized', 'refuses-connection', 'refuses-document'];

/**
 * Whether the brokers or MongoDB answer, but refuse this process or its writes. A lasting refusal may end only after a
 * restart, when the process reads its settings and files again.
 */
export const isRefusal = (error: unknown): boolean => refusals.includes(classify(error).errorClass);

/** The message of an error, with the setting or the right that fixes it if that is known. */
export const explained = (error: unknown): string => messageWithFix(errorMessage(error), classify(error).fix);

/** The error with its fix in its message, if one is known. */
export function withFix(error: unknown): Error {
  if (isNativeError(error) && explained(error) === error.message) return error;
  return new Error(explained(error), { cause: error });
}
