/**
 * The classes of an error, by its consequence for the work in progress. If a chain of causes has errors of several
 * classes, the first class in this list counts.
 */
const classes = [
  /** A server rejects the user's credentials or permissions. An operator has to correct the settings or the rights. */
  'unauthorized',
  /**
   * Server and process do not accept each other's connection. This may be temporary: an expired certificate, a listener
   * of another protocol, another replica set, a member that is not the primary.
   */
  'refuses-connection',
  /** A server has too much work. The overload is temporary, and clients should retry later. */
  'overloaded',
  /** A command exceeded its time limit. A later attempt may succeed; an immediate retry would add to the load. */
  'too-slow',
  /** A server is unreachable, or has failed at this request. A later attempt may succeed. */
  'transient',
  /** MongoDB refuses the document, and refuses every later attempt to write it. */
  'refuses-document',
  /** The command is invalid. A retry fails in the same way. */
  'wrong-command',
  /** The process ran out of memory, whatever the input was. A later attempt may succeed. */
  'no-memory',
  /** Code threw because of the data that it worked on. The same data makes it throw again. */
  'bug',
  /** None of these: an aborted signal, a failed assertion, an error that a caller knows by its class. */
  'other',
] as const;

export type ErrorClass = (typeof classes)[number];

/** The classes of errors that may pass without a change of the work, the settings or the rights. */
export const transientClasses: readonly ErrorClass[] = [
  'refuses-connection',
  'overloaded',
  'too-slow',
  'transient',
];

export type Classified = {
  errorClass: ErrorClass;
  /** The setting, the right or the step that helps, in words; null without a known fix. */
  fix: string | null;
};

export const asClass = (errorClass: ErrorClass, fix: string | null = null): Classified => ({
  errorClass,
  fix,
});

/**
 * Classifies an error and its causes together. `classifyOne` classifies a single error, or returns null for an unknown
 * one. The fix is the first one of the worst class, or else the first one of any class.
 */
export function classifyChain(
  chain: Error[],
  classifyOne: (cause: Error) => Classified | null,
): Classified | null {
  const classified = chain.flatMap((cause) => classifyOne(cause) ?? []);
  const [worst] = classified.toSorted(
    (a, b) => classes.indexOf(a.errorClass) - classes.indexOf(b.errorClass),
  );
  if (!worst) return null;
  const ofWorstClass = classified.filter(({ errorClass }) => errorClass === worst.errorClass);
  const withFix = [...ofWorstClass, ...classified].find(({ fix }) => fix !== null);
  return { ...worst, fix: withFix?.fix ?? null };
}

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

/** Classifies an error of a certificate that this process or the server does not accept; null for any other error. */
export function certificateError(error: Error, fix: string): Classified | null {
  const code = String((error as { code?: unknown }).code);
  const isCertificateError = verificationCodes.has(code) || alertPattern.test(code);
  return isCertificateError ? asClass('refuses-connection', fix) : null;
}
