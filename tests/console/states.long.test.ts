import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { publishSampleData } from '../../infra/sample-data/publish.ts';
import { batchesOf, generateSampleData } from '../../infra/sample-data/sample-data.ts';
import { type Service, startService } from '../../infra/service.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { type Sample, sampleEveryMs, samplesOf } from '../../shared/control/samples.ts';
import { takePicturesOf } from '../docs-site/visit.ts';
import { startChromium } from '../support/chromium.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';
import { waitingKafka } from '../support/waiting-kafka.ts';
import { openConsole } from './test-console.ts';

/** Full-page pictures of each state for a person. docs/images/console.png is working-overview-1280-light.png. */
const picturesFolder = 'artifacts/console';
const { environment, publish, applied, start, stop, cli } = useProjector({ partitions: 3, projectors: 0 });
const console = useOpened(() => openConsole(environment.variables));
let browser: Browser;
let api: Service;
const paths = { overview: '/', topics: '/lag', generations: '/generations', letters: '/dead-letters' };
/** How long a slow projector waits before each batch. A load then lasts until its pictures are taken. */
let batchDelayMs = 0;
const startSlowProjector = (options: Parameters<typeof start>[0] = {}) =>
  start({ ...options, through: (kafka) => waitingKafka(kafka, () => sleep(batchDelayMs)) });

// The first run on a machine downloads the browser.
beforeAll(async () => {
  mkdirSync(picturesFolder, { recursive: true });
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

/** Takes pictures of the pages at `statePaths` while the system is in this state. */
const takePictures = (state: string, statePaths: Record<string, string>) =>
  takePicturesOf(browser, console.url, statePaths, {
    prefix: `${picturesFolder}/${state}-`,
    ready: 'html[data-console=ready]',
    fullPage: true,
    // Four screens of a phone.
    heightMax: 4 * 844,
  });

test('the pictures show a loading system', async () => {
  batchDelayMs = 2_500;
  await startSlowProjector();
  await console.shows('/lag', 'a second');
  const { overview, topics, generations } = paths;
  await takePictures('loading', { overview, topics, generations });
  batchDelayMs = 0;
});

/** The mean rate of the sampled hour, in records a second. */
const steadyRate = 40;

test('the pictures show a working system', async () => {
  await applied();
  const { control } = environment;
  // The test publishes at the rate of the sampled hour while it takes the pictures. Otherwise the charts would end
  // with an idle system.
  const publishing = new AbortController();
  const published = publishUntil(publishing.signal);
  await samplesOf(control).deleteMany({});
  const sample = await readNextSample();
  await samplesOf(control).insertMany(samplesOfHourBefore(sample));
  try {
    await console.shows('/', 'All is well', 'Dead letters', /ago [56] s \d\d/);
    await takePictures('working', { ...paths, explain: `/explain?id=${await ticketId()}` });
  } finally {
    publishing.abort();
    await published;
  }
});

/** Waits until a projector has saved a sample. */
async function readNextSample(): Promise<Sample> {
  const samples: Sample[] = [];
  await eventually(async () => {
    samples.push(...(await samplesOf(environment.control).find().limit(1).toArray()));
    return samples.length > 0;
  });
  const [sample] = samples;
  if (!sample) throw new Error('there is no sample');
  return sample;
}

async function publishUntil(signal: AbortSignal): Promise<void> {
  for (let number = 0; !signal.aborted; number += 1) {
    const contacts = Array.from({ length: steadyRate / 4 }, (_, index) => `con_${number % 100}_${index}`);
    await publish(...contacts.map((id) => created('contact', id)));
    await sleep(250);
  }
}

/** Samples as if the system had run for an hour before the given one. The lag has one peak, twenty minutes earlier. */
function samplesOfHourBefore(sample: Sample): Sample[] {
  const samples = 178;
  const rate = (age: number) => steadyRate + 15 * Math.sin(age / 15) + 4 * Math.sin(age * 7);
  let appliedThen = sample.applied;
  return Array.from({ length: samples }, (_, index) => {
    const age = index + 1;
    const at = new Date(sample.at.getTime() - age * sampleEveryMs);
    const slot = Math.floor(at.getTime() / sampleEveryMs) % 180;
    const peakSeconds = age > 60 && age < 70 ? (70 - age) / 2 : 0;
    const lagSeconds = Math.abs(Math.sin(age * 5)) + peakSeconds;
    appliedThen -= rate(age) * (sampleEveryMs / 1_000);
    return { _id: `1/${slot}`, generation: 1, at, lagSeconds, applied: appliedThen };
  });
}

test('the pictures show a stuck system', async () => {
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
  await console.shows('/', 'Stale');
  await takePictures('stuck', {
    ...paths,
    explain: `/explain?id=${ticket.id}`,
    letter: `/dead-letters?id=${encodeURIComponent(letter)}`,
  });
});

test('the pictures show a rebuilding system', async () => {
  await start();
  await cli('rebuild', 'start');
  batchDelayMs = 2_500;
  await startSlowProjector({ settings: { GENERATION: 2 } });
  await console.shows('/generations', 'a second');
  const { overview, topics, generations } = paths;
  await takePictures('rebuilding', { overview, topics, generations });
  batchDelayMs = 0;
  await console.shows('/generations', 'Generation 2: ready');
  await takePictures('rebuilt', { overview, generations });
});

const ticketId = async (): Promise<string> => {
  const tickets = environment.database.collection<{ _id: string }>('tickets');
  return (await tickets.findOne({ state: { $exists: true } }))?._id ?? '';
};
