import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generate } from 'selfsigned';

/** The subject of each certificate for a server of this machine. */
const localhost = [{ name: 'commonName', value: 'localhost' }];

/** Creates a self-signed certificate for `localhost`, valid for a year, and its key, both as PEM. */
export async function createSelfSigned() {
  const pair = await generate(localhost, { keySize: 2048 });
  return { cert: pair.cert, key: pair.private };
}

/**
 * Writes a self-signed certificate and its key to files. Returns the certificate, and the API's settings for the files.
 */
export async function writeApiCertificate(folder: string) {
  const { cert, key } = await createSelfSigned();
  const settings = { API_TLS_CERT: join(folder, 'cert.pem'), API_TLS_KEY: join(folder, 'key.pem') };
  await writeFile(settings.API_TLS_CERT, cert);
  await writeFile(settings.API_TLS_KEY, key, { mode: 0o600 });
  return { cert, settings };
}

/**
 * Creates a certificate authority. `issue` creates a certificate for `localhost`, with its key. All are PEM.
 */
export async function createAuthority() {
  // A client finds an authority by its subject, so two authorities of one test need different subjects.
  const subject = [{ name: 'commonName', value: `authority ${randomUUID()}` }];
  const extensions = [{ name: 'basicConstraints' as const, cA: true }];
  const authority = await generate(subject, { keySize: 2048, extensions });
  return {
    cert: authority.cert,
    issue: async () => {
      const ca = { key: authority.private, cert: authority.cert };
      const pair = await generate(localhost, { keySize: 2048, ca });
      return { cert: pair.cert, key: pair.private };
    },
  };
}
