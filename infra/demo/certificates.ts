import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { dayMs } from '../../shared/documents/retention.ts';

/** Paths of PEM files: the authority that clients trust, the server's certificate and its key. */
export type Certificates = { authority: string; certificate: string; key: string };

/** Creates a certificate authority for this run and a certificate for `localhost`. Both are valid for a week. */
export async function createCertificates(folder: string): Promise<Certificates> {
  const common = {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(Date.now() - dayMs),
    notAfterDate: new Date(Date.now() + 7 * dayMs),
  } as const;
  const authority = await generate([{ name: 'commonName', value: 'Support demo authority' }], {
    ...common,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  const server = await generate([{ name: 'commonName', value: 'localhost' }], {
    ...common,
    ca: { key: authority.private, cert: authority.cert },
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  const files = {
    authority: join(folder, 'ca.pem'),
    certificate: join(folder, 'server.pem'),
    key: join(folder, 'server-key.pem'),
  };
  await writeFile(files.authority, authority.cert);
  await writeFile(files.certificate, server.cert);
  await writeFile(files.key, server.private, { mode: 0o600 });
  return files;
}
