import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { useProjector } from '../support/use-projector.ts';
import { openConsole, textOf, untilShown } from './test-console.ts';

const pages = ['/', '/lag', '/generations', '/dead-letters', '/explain?id=ti_1'];
const fresh = /^(?!.*No newer data).* Read \d+ s ago/;

describe('while MongoDB does not answer', () => {
  const { environment, applied } = useProjector();

  it('every page appears with the last known data and its age, and with new data afterwards', async () => {
    await applied();
    const proxy = createStoreProxy(environment.config.MONGODB_URL);
    const port = await proxy.listen(0);
    const console = await openConsole({ ...environment.environment, MONGODB_URL: proxiedUrl(port) });
    try {
      for (const path of pages.slice(0, 4)) await untilShown(() => console, path, fresh);
      await proxy.cut();
      await untilShown(() => console, '/', /No newer data: MongoDB .* Read \d+ s ago/, 'Data-As-Of');
      // The last verdict says nothing of the present any more.
      for (const path of ['/', '/lag'])
        await untilShown(() => console, path, 'Unknown: the last data was read');
      expect(textOf(await console.read('/'))).not.toContain('All is well');
      for (const path of pages) await untilShown(() => console, path, 'MongoDB (MONGODB_URL)');
      await proxy.listen(port);
      await untilShown(() => console, '/', fresh);
    } finally {
      await console.close();
      await proxy.cut();
    }
  });

  it('a console that is opened meanwhile shows the data once it answers', async () => {
    await applied();
    const proxy = createStoreProxy(environment.config.MONGODB_URL);
    const port = await proxy.listen(0);
    await proxy.cut();
    const console = await openConsole({ ...environment.environment, MONGODB_URL: proxiedUrl(port) });
    try {
      // The page that reads first opens the connection.
      for (const path of pages.toReversed()) await untilShown(() => console, path, 'MongoDB (MONGODB_URL)');
      await proxy.listen(port);
      for (const path of pages.slice(0, 4)) await untilShown(() => console, path, fresh);
      await untilShown(() => console, '/explain?id=ti_1', 'no living generation has a document with this id');
    } finally {
      await console.close();
      await proxy.cut();
    }
  });
});

describe('while Kafka is away', () => {
  const { environment, applied } = useProjector();

  it('the pages name it, and show everything that lies in MongoDB', async () => {
    await applied();
    const console = await openConsole({ ...environment.environment, KAFKA_BROKERS: '127.0.0.1:1' });
    try {
      await untilShown(() => console, '/', 'Not well: Kafka (KAFKA_BROKERS)', /Data-As-Of \d+ s ago/);
      await untilShown(() => console, '/generations', 'Generation 1: active');
      await untilShown(() => console, '/dead-letters', 'There are no dead letters');
      await untilShown(() => console, '/explain?id=ti_1', 'no living generation has a document with this id');
    } finally {
      await console.close();
    }
  });
});
