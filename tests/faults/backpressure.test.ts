import { collectionOf } from '../../shared/store/connection.ts';
import { created } from '../support/entities.ts';
import { peakMegabytes } from '../support/memory.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { useProjector } from '../support/use-projector.ts';
import { shortSession } from './use-fault-servers.ts';

/** The heap of a projector is limited to 128 MB: it would crash if it needed more. */
const heap = { ...shortSession, NODE_OPTIONS: '--max-old-space-size=128' };
/** The most memory, in megabytes, that the projector may take with that heap under any load. */
const residentMegabytesMax = 380;

describe('load limits only the speed', () => {
  const { environment, applied, publish, startProcess } = useProjector({ partitions: 2, projectors: 0 });

  test('200 records of 900 KB with a slow MongoDB take bounded memory', async () => {
    const { trouble, listen, cut } = createStoreProxy(environment.config.MONGODB_URL);
    trouble.delayMs = 50;
    const port = await listen(0);
    const content = 'x'.repeat(900_000);
    for (let index = 0; index < 200; index += 1)
      await publish(created('message', `msg_${index}`, { content }));
    const projector = startProcess({ ...heap, MONGODB_URL: proxiedUrl(port), QUEUED_MEGABYTES_MAX: '32' });
    await applied();
    expect(await collectionOf(environment.database, 'message').countDocuments()).toBe(200);
    expect(peakMegabytes(projector.child)).toBeLessThan(residentMegabytesMax);
    await projector.stop();
    await cut();
  });
});
