import { readFileSync } from 'node:fs';
import { liveReplicas } from '../../shared/store/replicas.ts';
import { eventually } from '../support/eventually.ts';
import { openApiProcesses, type ApiProcesses } from './api-processes.ts';

let children: ApiProcesses;
beforeAll(async () => {
  children = await openApiProcesses();
}, 120_000);
afterAll(() => children.close(), 60_000);

test('a replica names its release in its log, its metrics and its announcement', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const child = await children.start({ ADMIN_PORT: '0' });
  const listening = () => child.log.find(({ msg }) => msg === 'admin server listening');
  await eventually(async () => listening() !== undefined);
  expect(listening()).toMatchObject({ service: 'api', release: version });
  const metrics = await (await fetch(`http://127.0.0.1:${String(listening()?.port)}/metrics`)).text();
  expect(metrics).toContain(`\nsupport_build_info{release="${version}"} 1\n`);
  const replicas = () => liveReplicas(children.store.control, new Date(0));
  await eventually(async () => (await replicas()).length > 0);
  expect(await replicas()).toMatchObject([{ release: version }]);
}, 60_000);
