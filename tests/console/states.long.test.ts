import { mkdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { publishSampleData } from '../../infra/sample-data/publish.ts';
import { batchesOf, generateSampleData } from '../../infra/sample-data/sample-data.ts';
import { type Service, startService } from '../../infra/service.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { sampleEveryMs, samplesOf } from '../../shared/control/samples.ts';
import { picture } from '../docs-site/visit.ts';
import { startChromium } from '../support/chromium.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';
import { waitingKafka } from '../support/waiting-kafka.ts';
import { openConsole } from './test-console.ts';

/** Full-page screenshots of each state, for people to look at. That of an idle one is docs/images/console.png. */
const pictures = 'artifacts/console';
const { environment, publish, applied, start, stop, cli } = useProjector({ partitions: 3, projectors: 0 });
const console = useOpened(() => openConsole(environment.environment));
let browser: Browser;
let api: Service;
const paths: Record<string, string> = {
  overview: '/',
  topics: '/lag',
  generations: '/generations',
  letters: '/dead-letters',
};
/** A projector waits before each batch, so that a load lasts as long as its pictures take. */
let batchDelayMs = 0;
const slowly = () =>
  ({ through: (kafka) => waitingKafka(kafka, () => delay(batchDelayMs)) }) satisfies Parameters<
    typeof start
  >[0];

// The first run on a machine downloads the browser.
beforeAll(async () => {
  mkdirSync(pictures, { recursive: true });
  browser = await startChromium();
  const { admin, config, producer } = environment;
  const batches = batchesOf(generateSampleData({ seed: 1, size: 'small' }));
  await publishSampleData({ producer, admin, prefix: config.TOPIC_PREFIX }, batches);
  api = startService('api', {
    MONGODB_URL: config.MONGODB_URL,
    DATABASE_NAME: environment.name,
    API_HOST: '127.0.0.1',
    API_PORT: '0',
  });
  await api.logged('listening');
});
afterAll(async () => {
  await browser?.close();
  await api?.stop();
});

/** Takes the pictures of the pages of a state. */
const pictured = (state: string, names = Object.keys(paths)) =>
  picture(browser, console.url, Object.fromEntries(names.map((name) => [name, paths[name] ?? '/'])), {
    prefix: `${pictures}/${state}-`,
    ready: 'html[data-console=ready]',
    fullPage: true,
    // Four screens of a phone.
    heightMax: 4 * 844,
  });

test('a loading system', async () => {
  batchDelayMs = 2_500;
  await start(slowly());
  await console.shows('/lag', 'a second');
  await pictured('loading', ['overview', 'topics', 'generations']);
  batchDelayMs = 0;
});

test('an idle system', async () => {
  await applied();
  // As if it had run for an hour.
  const nowMs = Date.now();
  const intervals = 178;
  const rate = (index: number) => 40 + 15 * Math.sin(index / 15) + 8 * Math.sin(index * 7);
  const progress = await progressOf(environment.control).find({ generation: 1 }).toArray();
  let appliedThen = progress.reduce((sum, { applied: { position } }) => sum + position, 0);
  await samplesOf(environment.control).deleteMany({});
  for (let back = 0; back < intervals; back += 1) {
    const at = new Date(nowMs - back * sampleEveryMs);
    const slot = Math.floor(at.getTime() / sampleEveryMs) % 180;
    const lagSeconds = 1 + Math.abs(Math.sin(back * 5)) + (back > 60 && back < 70 ? (70 - back) / 2 : 0);
    const sample = { _id: `1/${slot}`, generation: 1, at, lagSeconds, applied: appliedThen };
    await samplesOf(environment.control).insertOne(sample);
    appliedThen -= rate(back) * 20;
  }
  paths.explain = `/explain?id=${await ticketId()}`;
  await console.shows('/', 'All is well', 'Records to apply 0 Dead letters', /ago [67] s \d\d/);
  await pictured('idle');
});

test('a stuck system', async () => {
  await stop();
  const { control } = environment;
  await publish(...Array.from({ length: 40 }, (_, index) => created('contact', `con_${index}`)));
  const anHourAgo = new Date(Date.now() - 3_600_000);
  await progressOf(control).updateMany({ topic: /contacts$/ }, { $set: { completeTo: anHourAgo } });
  await progressOf(control).updateMany({}, { $set: { updatedAt: anHourAgo } });
  await control.collection('watermarks').updateMany({}, { $set: { completeTo: anHourAgo } });
  for (let offset = 0; offset < 60; offset += 1)
    await storeDeadLetter(environment, created('tag', `tag_${offset}`), { offset });
  const ticket = created('ticket', await ticketId());
  const letter = await storeDeadLetter(environment, ticket, { reason: 'wrong_organization' });
  paths.letter = `/dead-letters?id=${encodeURIComponent(letter)}`;
  await console.shows('/', 'Stale');
  await pictured('stuck');
});

test('a rebuilding system', async () => {
  await start();
  await cli('rebuild', 'start');
  batchDelayMs = 2_500;
  await start({ settings: { GENERATION: 2 }, ...slowly() });
  await console.shows('/generations', 'a second');
  await pictured('rebuilding', ['overview', 'topics', 'generations']);
  batchDelayMs = 0;
  await console.shows('/generations', 'Generation 2: ready');
  await pictured('rebuilt', ['overview', 'generations']);
});

const ticketId = async (): Promise<string> => {
  const tickets = environment.database.collection<{ _id: string }>('tickets');
  return (await tickets.findOne({ state: { $exists: true } }))?._id ?? '';
};
