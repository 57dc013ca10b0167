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
import { writeCertificate } from '../../infra/certificate.ts';
import { eventually } from '../support/eventually.ts';
import { useApiProcesses } from './api-processes.ts';
import { metricOf } from './raw-socket.ts';
import { begin } from './requests.ts';

const children = useApiProcesses();

it('a replaced certificate is used for new connections, unless it does not match its key; open ones stay', async () => {
  const folder = mkdtempSync(join(children.folder, 'volume-'));
  const certificateIn = async (name: string) => {
    mkdirSync(join(folder, name));
    await writeCertificate(join(folder, name));
  };
  // Like a Kubernetes volume: the files are links through another link, which is replaced.
  const switchTo = (name: string) => {
    symlinkSync(name, join(folder, 'next'));
    renameSync(join(folder, 'next'), join(folder, 'current'));
  };
  await certificateIn('first');
  switchTo('first');
  const child = await children.start({
    API_TLS_CERT: join(folder, 'current', 'cert.pem'),
    API_TLS_KEY: join(folder, 'current', 'key.pem'),
    ADMIN_PORT: '0',
  });
  /** The metric of the certificate in use has the expiry of the one of this name. */
  const showsExpiryOf = async (name: string) => {
    const { validTo } = new X509Certificate(readFileSync(join(folder, name, 'cert.pem')));
    const shown = await metricOf(child, 'api_tls_certificate_not_after_timestamp_seconds');
    return shown === Date.parse(validTo) / 1_000;
  };
  const certificate = async (agent: Agent | false = false) => {
    const response = await begin(child, '/health', { agent });
    const { fingerprint256 } = (response.socket as TLSSocket).getPeerCertificate();
    expect(await textOf(response)).toBe('{"status":"ok"}');
    return fingerprint256;
  };
  const kept = new Agent({ keepAlive: true, maxSockets: 1 });
  const first = await certificate(kept);
  expect(await showsExpiryOf('first')).toBe(true);
  await certificateIn('broken');
  writeFileSync(join(folder, 'broken', 'key.pem'), 'none');
  switchTo('broken');
  await child.logged('new certificate rejected; keeping the current one');
  // A connection that is idle for 65 s is closed, and a slow machine needs long for a certificate.
  for (const agent of [false, kept] as const) expect(await certificate(agent)).toBe(first);
  await certificateIn('second');
  switchTo('second');
  await child.logged('new certificate in use');
  expect(await certificate()).not.toBe(first);
  expect(await showsExpiryOf('second')).toBe(true);
  expect(await certificate(kept)).toBe(first);
  kept.destroy();
  // and also one that keeps its key
  mkdirSync(join(folder, 'renewed'));
  copyFileSync(join(folder, 'second', 'key.pem'), join(folder, 'renewed', 'key.pem'));
  const renewed = readFileSync(join(folder, 'second', 'cert.pem'), 'utf8');
  writeFileSync(join(folder, 'renewed', 'cert.pem'), `renewed\n${renewed}`);
  /** Resolves when a switch is logged, which may happen several times. */
  const switched = async (name: string, message: string) => {
    const count = () => child.log.filter(({ msg }) => msg === message).length;
    const before = count();
    switchTo(name);
    await eventually(() => count() > before);
  };
  await switched('renewed', 'new certificate in use');
  // and a pair that is refused again is logged again
  await switched('broken', 'new certificate rejected; keeping the current one');
});
