import { X509Certificate } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { writeApiCertificate } from '../../infra/certificate.ts';
import { eventually } from '../support/eventually.ts';
import { useApiProcesses } from './api-processes.ts';
import { metricOf } from './raw-socket.ts';
import { begin } from './requests.ts';

const apis = useApiProcesses();

/** An API with the certificate of a folder. A test can replace it by the certificate of another folder. */
async function startWithVolume() {
  const folder = mkdtempSync(join(apis.folder, 'volume-'));
  const certificateIn = async (name: string) => {
    mkdirSync(join(folder, name));
    await writeApiCertificate(join(folder, name));
  };
  // Kubernetes updates a volume in this way: each file is a link through one link, which it replaces.
  const switchTo = (name: string) => {
    symlinkSync(name, join(folder, 'next'));
    renameSync(join(folder, 'next'), join(folder, 'current'));
  };
  await certificateIn('first');
  switchTo('first');
  const api = await apis.start({
    API_TLS_CERT: join(folder, 'current', 'cert.pem'),
    API_TLS_KEY: join(folder, 'current', 'key.pem'),
    ADMIN_PORT: '0',
  });
  return {
    api,
    folder,
    certificateIn,
    /** Resolves when the API has logged this at a switch to the certificate of this name. */
    switched: async (name: string, message: string) => {
      const count = () => api.log.filter(({ msg }) => msg === message).length;
      const earlierCount = count();
      switchTo(name);
      await eventually(() => count() > earlierCount);
    },
    /** Whether the metric of the certificate in use shows the expiry of the certificate of this name. */
    showsExpiryOf: async (name: string) => {
      const { validTo } = new X509Certificate(readFileSync(join(folder, name, 'cert.pem')));
      const shown = await metricOf(api, 'api_tls_certificate_not_after_timestamp_seconds');
      return shown === Date.parse(validTo) / 1_000;
    },
    certificate: async (agent: Agent | false = false) => {
      const response = await begin(api, '/health', { agent });
      const { fingerprint256 } = (response.socket as TLSSocket).getPeerCertificate();
      expect(await textOf(response)).toBe('{"status":"ok"}');
      return fingerprint256;
    },
  };
}

const inUse = 'new certificate in use';
const rejected = 'new certificate rejected; keeping the current one';

test('new connections use a replaced certificate, and the metric shows its expiry', async () => {
  const { certificateIn, switched, showsExpiryOf, certificate } = await startWithVolume();
  const kept = new Agent({ keepAlive: true, maxSockets: 1 });
  const first = await certificate(kept);
  expect(await showsExpiryOf('first')).toBe(true);
  await certificateIn('second');
  await switched('second', inUse);
  expect(await certificate()).not.toBe(first);
  expect(await showsExpiryOf('second')).toBe(true);
  expect(await certificate(kept)).toBe(first);
  kept.destroy();
});

test('a certificate that does not match its key is refused on every connection', async () => {
  const { folder, certificateIn, switched, certificate } = await startWithVolume();
  const kept = new Agent({ keepAlive: true, maxSockets: 1 });
  const first = await certificate(kept);
  await certificateIn('broken');
  writeFileSync(join(folder, 'broken', 'key.pem'), 'none');
  await switched('broken', rejected);
  for (const agent of [false, kept] as const) expect(await certificate(agent)).toBe(first);
  kept.destroy();
});

test('each new refusal of the same certificate is logged', async () => {
  const { folder, certificateIn, switched } = await startWithVolume();
  await certificateIn('broken');
  writeFileSync(join(folder, 'broken', 'key.pem'), 'none');
  await switched('broken', rejected);
  await certificateIn('second');
  await switched('second', inUse);
  await switched('broken', rejected);
});

test('connections use a renewed certificate with an unchanged key', async () => {
  const { folder, switched } = await startWithVolume();
  mkdirSync(join(folder, 'renewed'));
  copyFileSync(join(folder, 'first', 'key.pem'), join(folder, 'renewed', 'key.pem'));
  const renewed = readFileSync(join(folder, 'first', 'cert.pem'), 'utf8');
  writeFileSync(join(folder, 'renewed', 'cert.pem'), `renewed\n${renewed}`);
  await switched('renewed', inUse);
});
