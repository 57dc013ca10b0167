import { mkdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { publishSampleData } from '../../infra/sample-data/publish.ts';
import { batchesOf, generateSampleData } from '../../infra/sample-data/sample-data.ts';
import { type Service, startService } from '../../infra/service.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { type Sample, sampleEveryMs, samplesOf } from '../../shared/control/samples.ts';
import { picture } from '../docs-site/visit.ts';
import { startChromium } from '../support/chromium.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';
import { waitingKafka } from '../support/waiting-kafka.ts';
import { openConsole } from './test-console.ts';

/** Full-page pictures of each state, for people. docs/images/console.png is working-overview-1280-light.png. */
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

test('a system at work', async () => {
  await applied();
  const { control } = environment;
  // The test publishes changes while it takes the pictures, as fast as in the hour before: an idle end would be another
  // state.
  const ended = new AbortController();
  const changes = publishSteadily(ended.signal);
  await samplesOf(control).deleteMany({});
  let last: Sample | null = null;
  await eventually(async () => (last = await samplesOf(control).findOne()) !== null);
  await samplesOf(control).insertMany(hourBefore(last as unknown as Sample));
  paths.explain = `/explain?id=${await ticketId()}`;
  try {
    await console.shows('/', 'All is well', 'Dead letters', /ago [56] s \d\d/);
    await pictured('working');
  } finally {
    ended.abort();
    await changes;
  }
});

/** The mean rate of the hour, in records a second. */
const steadyRate = 40;

async function publishSteadily(signal: AbortSignal) {
  for (let number = 0; !signal.aborted; number += 1) {
    const contacts = Array.from({ length: steadyRate / 4 }, (_, index) => `con_${number % 100}_${index}`);
    await publish(...contacts.map((id) => created('contact', id)));
    await delay(250);
  }
}

/** Samples as if the system had run for an hour before this one. */
function hourBefore(last: Sample): Sample[] {
  const intervals = 178;
  const rate = (back: number) => steadyRate + 15 * Math.sin(back / 15) + 4 * Math.sin(back * 7);
  let appliedThen = last.applied;
  return Array.from({ length: intervals }, (_, index) => {
    const back = index + 1;
    const at = new Date(last.at.getTime() - back * sampleEveryMs);
    const slot = Math.floor(at.getTime() / sampleEveryMs) % 180;
    const lagSeconds = Math.abs(Math.sin(back * 5)) + (back > 60 && back < 70 ? (70 - back) / 2 : 0);
    appliedThen -= rate(back) * 20;
    return { _id: `1/${slot}`, generation: 1, at, lagSeconds, applied: appliedThen };
  });
}

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
