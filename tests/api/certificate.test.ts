import { mkdirSync, mkdtempSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { writeCertificate } from '../../infra/certificate.ts';
import { useApiProcesses } from './api-processes.ts';
import { begin, textOf } from './requests.ts';

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
  });
  const certificate = async (agent: Agent | false = false) => {
    const response = await begin(child, '/health', { agent });
    const { fingerprint256 } = (response.socket as TLSSocket).getPeerCertificate();
    expect(await textOf(response)).toBe('{"status":"ok"}');
    return fingerprint256;
  };
  const kept = new Agent({ keepAlive: true, maxSockets: 1 });
  const first = await certificate(kept);
  await certificateIn('broken');
  writeFileSync(join(folder, 'broken', 'key.pem'), 'none');
  switchTo('broken');
  await child.logged('new certificate rejected; keeping the current one');
  expect(await certificate()).toBe(first);
  await certificateIn('second');
  switchTo('second');
  await child.logged('new certificate in use');
  expect(await certificate()).not.toBe(first);
  expect(await certificate(kept)).toBe(first);
  kept.destroy();
});
