import { eventually } from '../support/eventually.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';
import { openConsole, textOf } from './test-console.ts';

const pages = ['/', '/lag', '/generations', '/dead-letters', '/explain?id=ti_1'];
const freshData = /^(?!.*No newer data).* Read \d+ s ago/;

describe('while MongoDB does not answer', () => {
  const { environment, applied } = useProjector();

  /** A console with a proxy before MongoDB. A test can cut the connection, delay answers, or hold them back. */
  const opened = useOpened(
    async () => {
      const proxy = createStoreProxy(environment.config.MONGODB_URL);
      const port = await proxy.listen();
      const console = await openConsole({ ...environment.variables, MONGODB_URL: proxiedUrl(port) });
      return {
        ...console,
        delay: (ms: number) => {
          proxy.trouble.delayMs = ms;
        },
        hold: (text: string) => {
          proxy.trouble.holding = text;
        },
        heldCount: proxy.heldCount,
        release: proxy.release,
        cut: proxy.cut,
        repair: () => proxy.listen(port),
        close: () => console.close().finally(() => proxy.cut()),
      };
    },
    { each: true },
  );
  beforeEach(applied);

  test('every page shows the last known data and the age of that data', async () => {
    for (const path of pages.slice(0, 4)) await opened.shows(path, freshData);
    await opened.cut();
    await opened.shows('/', /No newer data: MongoDB .* Read \d+ s ago/, 'Data-As-Of');
    // The last verdict could be wrong by now, so the pages withdraw it.
    for (const path of ['/', '/lag']) await opened.shows(path, 'Unknown: the last data was read');
    expect(textOf(await opened.read('/'))).not.toContain('All is well');
    for (const path of pages) await opened.shows(path, 'MongoDB (MONGODB_URL)');
    // then the pages show new data once MongoDB answers
    await opened.repair();
    await opened.shows('/', freshData);
  });

  test('a later request shows an explanation for which the first request did not wait', async () => {
    await opened.shows('/explain?id=ti_1', 'no living generation has a document with this id');
    opened.delay(700);
    const first = textOf(await (await fetch(`${opened.url}/explain?id=ti_2`)).text());
    expect(first).toContain('MongoDB has not answered for 3 s. It is still asked: load this page again.');
    await opened.shows('/explain?id=ti_2', 'ti_2: no living generation has a document with this id');
  });

  test.each(['/dead-letters?topic=held_1', '/dead-letters?id=held_1', '/explain?id=held_1'])(
    'the reads of %s end with their page although MongoDB still works on them',
    async (path) => {
      await opened.shows('/', freshData);
      opened.hold('held_1');
      await fetch(`${opened.url}${path}`);
      expect(opened.heldCount()).toBeGreaterThan(0);
      await eventually(() => opened.heldCount() === 0);
      opened.release();
    },
  );

  test('a console that starts during the outage shows the data once MongoDB answers', async () => {
    await opened.cut();
    // The first page that reads opens the connection. In reverse order, that page is not the overview.
    for (const path of pages.toReversed()) await opened.shows(path, 'MongoDB (MONGODB_URL)');
    await opened.repair();
    for (const path of pages.slice(0, 4)) await opened.shows(path, freshData);
    await opened.shows('/explain?id=ti_1', 'no living generation has a document with this id');
  });
});

describe('while Kafka is away', () => {
  const { environment, applied } = useProjector();
  const console = useOpened(() => openConsole({ ...environment.variables, KAFKA_BROKERS: '127.0.0.1:1' }));

  test('the pages name Kafka as away and show the data in MongoDB', async () => {
    await applied();
    await console.shows('/', 'Not well: Kafka (KAFKA_BROKERS)', /Data-As-Of \d+ s ago/);
    await console.shows('/generations', 'Generation 1: active');
    await console.shows('/dead-letters', 'There are no dead letters');
    await console.shows('/explain?id=ti_1', 'no living generation has a document with this id');
  });
});
