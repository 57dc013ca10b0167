import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { repeat, type Repeating } from '../../../shared/runtime/repeat.ts';
import type { Credentials } from './tls.ts';

/** Paths of PEM files: the certificate with its chain, and its key. */
export type CertificateFiles = { cert: string; key: string };

const pollIntervalMs = 2_000;

/** Throws if the key does not belong to the certificate, or if one of them is invalid. */
function assertMatching(pair: Credentials): void {
  createSecureContext(pair);
}

/** Reads certificate and key. Throws if a file cannot be read, or if the two do not match. */
export function readCertificate(files: CertificateFiles): Credentials {
  const pair = { cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') };
  assertMatching(pair);
  return pair;
}

/** The Unix time at which the first certificate of a chain in PEM expires, in seconds. */
export const notAfterSeconds = ({ cert }: Credentials): number =>
  new X509Certificate(cert).validToDate.getTime() / 1_000;

/**
 * Calls `use` when the files contain a new pair of certificate and key. The two files may be replaced one after the
 * other, so the current pair stays in use until they match. Polls, because a file watcher misses the replacement of a
 * symbolic link in a parent folder, as Kubernetes does it.
 */
export function pollCertificate(
  { logger, use }: { logger: Logger; use: (pair: Credentials) => void },
  files: CertificateFiles,
  inUse: Credentials,
): Repeating {
  /** The last pair that was read, in use or rejected. */
  let lastRead = inUse;
  let rejectedReason: string | null = null;
  const poll = async () => {
    const [cert, key] = await Promise.all([readFile(files.cert, 'utf8'), readFile(files.key, 'utf8')]);
    if (cert === lastRead.cert && key === lastRead.key) return;
    const pair = { cert, key };
    lastRead = pair;
    // Throws if they do not match: `onError` logs it, and the next polls wait for other files.
    assertMatching(pair);
    use(pair);
    rejectedReason = null;
    logger.info('new certificate in use');
  };
  const onError = (error: unknown) => {
    const reason = errorMessage(error);
    if (reason !== rejectedReason)
      logger.error({ reason }, 'new certificate rejected; keeping the current one');
    rejectedReason = reason;
  };
  return repeat(poll, { intervalMs: pollIntervalMs, onError });
}
