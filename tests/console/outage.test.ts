import { eventually } from '../support/eventually.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';
import { openConsole, textOf } from './test-console.ts';

const pages = ['/', '/lag', '/generations', '/dead-letters', '/explain?id=ti_1'];
const fresh = /^(?!.*No newer data).* Read \d+ s ago/;

describe('while MongoDB does not answer', () => {
  const { environment, applied } = useProjector();

  /** A console whose way to MongoDB a test can cut. */
  const opened = useOpened(
    async () => {
      const proxy = createStoreProxy(environment.config.MONGODB_URL);
      const port = await proxy.listen();
      const console = await openConsole({ ...environment.environment, MONGODB_URL: proxiedUrl(port) });
      const close = () => console.close().finally(() => proxy.cut());
      const delay = (ms: number) => (proxy.trouble.delayMs = ms);
      const { heldCount, release } = proxy;
      const hold = (text: string) => (proxy.trouble.holding = text);
      return {
        ...console,
        delay,
        hold,
        heldCount,
        release,
        cut: proxy.cut,
        repair: () => proxy.listen(port),
        close,
      };
    },
    { each: true },
  );
  beforeEach(applied);

  it('every page appears with the last known data and its age, and with new data afterwards', async () => {
    for (const path of pages.slice(0, 4)) await opened.shows(path, fresh);
    await opened.cut();
    await opened.shows('/', /No newer data: MongoDB .* Read \d+ s ago/, 'Data-As-Of');
    // The last verdict no longer shows the present state.
    for (const path of ['/', '/lag']) await opened.shows(path, 'Unknown: the last data was read');
    expect(textOf(await opened.read('/'))).not.toContain('All is well');
    for (const path of pages) await opened.shows(path, 'MongoDB (MONGODB_URL)');
    await opened.repair();
    await opened.shows('/', fresh);
  });

  it('an explanation that takes longer than a page waits appears at a later request, if MongoDB is slow', async () => {
    await opened.shows('/explain?id=ti_1', 'no living generation has a document with this id');
    opened.delay(700);
    const first = textOf(await (await fetch(`${opened.url}/explain?id=ti_2`)).text());
    expect(first).toContain('MongoDB has not answered for 3 s');
    await opened.shows('/explain?id=ti_2', 'ti_2: no living generation has a document with this id');
  });

  it.each(['/dead-letters?after=held_1', '/dead-letters?id=held_1', '/explain?id=held_1'])(
    'the reads of %s end once no page waits for them, though MongoDB still works',
    async (path) => {
      await opened.shows('/', fresh);
      opened.hold('held_1');
      await fetch(`${opened.url}${path}`);
      expect(opened.heldCount()).toBeGreaterThan(0);
      await eventually(() => opened.heldCount() === 0);
      opened.release();
    },
  );

  it('a console that is opened meanwhile shows the data once it answers', async () => {
    await opened.cut();
    // The page that reads first opens the connection.
    for (const path of pages.toReversed()) await opened.shows(path, 'MongoDB (MONGODB_URL)');
    await opened.repair();
    for (const path of pages.slice(0, 4)) await opened.shows(path, fresh);
    await opened.shows('/explain?id=ti_1', 'no living generation has a document with this id');
  });
});

describe('while Kafka is away', () => {
  const { environment, applied } = useProjector();
  const console = useOpened(() => openConsole({ ...environment.environment, KAFKA_BROKERS: '127.0.0.1:1' }));

  it('the pages name it, and show everything that lies in MongoDB', async () => {
    await applied();
    await console.shows('/', 'Not well: Kafka (KAFKA_BROKERS)', /Data-As-Of \d+ s ago/);
    await console.shows('/generations', 'Generation 1: active');
    await console.shows('/dead-letters', 'There are no dead letters');
    await console.shows('/explain?id=ti_1', 'no living generation has a document with this id');
  });
});
