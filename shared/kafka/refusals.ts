import { MongoServerSelectionError } from 'mongodb';
import { errorChain } from '../runtime/error-message.ts';
import {
  foreignReplicaSet,
  isNotPrimary,
  isUserRefusal,
  isValidatorRefusal,
} from '../store/transient-errors.ts';
import { otherProtocol } from './listener-protocol.ts';
import { isKafkaAuthorizationError } from './transient-errors.ts';

/** The codes of Node.js for a server's certificate that this process does not accept. */
const verificationCodes = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'CRL_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_CRL',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * The codes of OpenSSL for a server that does not accept this process's certificate. The part before ALERT differs
 * between versions of TLS and of OpenSSL.
 */
const alertPattern =
  /^ERR_SSL_.*_ALERT_(BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_\w+|UNKNOWN_CA|ACCESS_DENIED|HANDSHAKE_FAILURE)$/;

/** The error with its causes. If no server of MongoDB could be used, also the error of each server. */
const errorsIn = (error: unknown): Error[] =>
  errorChain(error).flatMap((cause) => {
    const servers = cause instanceof MongoServerSelectionError ? cause.reason?.servers : undefined;
    return [cause, ...[...(servers?.values() ?? [])].flatMap((server) => errorChain(server.error))];
  });

/** Whether a certificate is at fault: this process does not accept the server's, or the server this process's. */
export const isCertificateError = (error: unknown): boolean =>
  errorsIn(error).some((cause) => {
    const code = String((cause as { code?: unknown }).code);
    return verificationCodes.has(code) || alertPattern.test(code);
  });

/** Whether the listener of a broker seems to speak another protocol than this process: TLS, SASL or neither. */
export const isOtherProtocol = (error: unknown): boolean =>
  errorChain(error).some((cause) => (cause as { code?: unknown }).code === otherProtocol);

/**
 * Whether the brokers or MongoDB answer, but this process and they do not accept each other: protocol, certificates,
 * credentials or permissions, the name of the replica set, a member that is not the primary, or the validator of a
 * collection. It may pass, but a process that reads its settings and files again may be needed.
 */
export const isRefusal = (error: unknown): boolean =>
  isCertificateError(error) ||
  isOtherProtocol(error) ||
  isKafkaAuthorizationError(error) ||
  foreignReplicaSet(error) !== null ||
  errorChain(error).some((cause) => isNotPrimary(cause) || isValidatorRefusal(cause)) ||
  errorsIn(error).some(isUserRefusal);
