import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installKafka, prepareBroker } from './kafka.ts';
import { freePort } from './ports.ts';
import { java, maven, requireTools } from './prerequisites.ts';
import { startServer } from './server.ts';

test('the error of a broker that cannot start has the reason', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'kafka-'));
  const port = await freePort();
  // Servers in Docker need neither.
  await requireTools(() => undefined, 'Kafka', [java, maven]);
  await installKafka(() => undefined);
  const started = startServer([prepareBroker(folder.path, { id: 1, broker: port, controller: port })]);
  await expect(started).rejects.toThrow(/^Kafka exited during its start[^]*two listeners on the same port/);
});
