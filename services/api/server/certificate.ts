import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Credentials } from './tls.ts';

/** Files in PEM: the certificate with its chain, and its key. */
export type CertificateFiles = { cert: string; key: string };

/** How often the files are looked at, in milliseconds. */
const intervalMs = 2_000;

/** The pair in the files; throws when one cannot be read, or they are no pair. */
export function readCertificate(files: CertificateFiles): Credentials {
  const pair = { cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') };
  createSecureContext(pair);
  return pair;
}

/**
 * Has a new pair used once it is in the files. They are read rather than watched: a platform may replace a
 * link far above them, of which a watch on the files learns nothing. A pair that does not fit is tried again
 * when it changes, since its halves may arrive one after the other; meanwhile the one in use stays.
 */
export function watchCertificate(
  { logger, use }: { logger: Logger; use: (pair: Credentials) => void },
  files: CertificateFiles,
  inUse: Credentials,
): { stop: () => void } {
  let seen = inUse;
  let refused: string | null = null;
  const look = async () => {
    try {
      const [cert, key] = await Promise.all([readFile(files.cert, 'utf8'), readFile(files.key, 'utf8')]);
      if (cert === seen.cert && key === seen.key) return;
      seen = { cert, key };
      createSecureContext(seen);
      use(seen);
      refused = null;
      logger.info('new certificate in use');
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== refused) logger.error({ reason }, 'new certificate refused: the one in use stays');
      refused = reason;
    }
  };
  const timer = setInterval(() => void look(), intervalMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
