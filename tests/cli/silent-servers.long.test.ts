import { createServer, type AddressInfo } from 'node:net';
import { startService } from '../../infra/service.ts';

/** It accepts connections, and never answers. */
const silent = createServer((socket) => socket.on('error', () => undefined));
let address = '';
beforeAll(async () => {
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
});
afterAll(() => silent.close());

test.each([
  ['KAFKA_BROKERS', 'topics create', '', /^waiting for Kafka at \S+\n.+: Kafka .+ no answer for 25 s\n$/],
  ['MONGODB_URL', 'keys list', 'mongodb://', /^keys list failed: MongoDB .+ timed out after 5000 ms\n$/],
])('a verb names %s and ends if that server never answers', async (name, verb, scheme, errors) => {
  const environment = { DATABASE_NAME: 'silent', [name]: scheme + address };
  const service = startService('cli', environment, verb.split(' '));
  expect(await service.exited).toBe(1);
  expect(service.stderr()).toMatch(errors);
  expect(service.stderr()).toContain(`(${name}) cannot be reached: `);
});
