import { createServer } from 'node:net';
import { listen } from '../../../shared/runtime/listen.ts';
import { acceptsConnections, freePorts } from './ports.ts';

test('free ports are different, unused, and outside the range of client ports', async () => {
  const ports = await freePorts(20);
  expect(new Set(ports).size).toBe(20);
  for (const port of ports) {
    expect(port).toBeLessThan(32_768);
    await using server = createServer();
    await listen(server, '127.0.0.1', port);
    expect(await acceptsConnections(port)).toBe(true);
  }
  expect(await acceptsConnections(ports[0] ?? 0)).toBe(false);
});
