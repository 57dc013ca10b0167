import { collectionOf } from '../../shared/store/connection.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { created } from '../support/entities.ts';
import { encode, type Event } from '../support/events.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { applied, createTestEnvironment, type TestEnvironment } from '../support/test-environment.ts';
import { peakMegabytes } from '../support/memory.ts';
import type { Service } from '../support/service.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { createFleet, type Fleet } from './fleet.ts';
import { eventually } from '../support/eventually.ts';

/** `FAN_OUT=200000 npm test -- tests/faults/backpressure` prints figures for a large fan-out. */
const dependents = Number(process.env.FAN_OUT ?? 10_000);
/** The heap of a projector is limited to 128 MB: it would crash if it needed more. */
const heap = { NODE_OPTIONS: '--max-old-space-size=128' };
/** The most memory, in megabytes, that the projector may take with that heap under any load. */
const residentMegabytesMax = 380;

/** Prints figures for measurements. */
const print = (line: string) => {
  if (process.env.FAN_OUT) process.stdout.write(`${line}\n`);
};

describe('load limits only the speed', () => {
  let testEnvironment: TestEnvironment;
  let fleet: Fleet;

  beforeEach(async () => {
    testEnvironment = await createTestEnvironment(2);
  }, 60_000);
  afterEach(async () => {
    await fleet.stop();
    await testEnvironment.close();
  }, 60_000);

  const publish = async (events: Event[], atOnce = 1_000) => {
    for (let start = 0; start < events.length; start += atOnce) {
      const some = Map.groupBy(events.slice(start, start + atOnce), ({ kind }) => kind);
      for (const [kind, ofKind] of some) {
        const messages = ofKind.map((event) => encode(event, 'binary'));
        await testEnvironment.producer.send({
          topic: topicOf(kind, testEnvironment.config.TOPIC_PREFIX),
          messages,
        });
      }
    }
  };

  test('200 records of 900 KB with a slow MongoDB take bounded memory', async () => {
    const { trouble, listen, cut } = createStoreProxy(testEnvironment.config.MONGODB_URL);
    trouble.delayMs = 50;
    const port = await listen(0);
    const content = 'x'.repeat(900_000);
    for (let index = 0; index < 200; index += 1)
      await publish([created('message', `msg_${index}`, { content })]);
    fleet = createFleet(testEnvironment, {
      ...heap,
      MONGODB_URL: proxiedUrl(port),
      QUEUED_MEGABYTES_MAX: '32',
    });
    const projector = fleet.add();
    await applied(testEnvironment, fleet.fatal);
    expect(await collectionOf(testEnvironment.database, 'message').countDocuments()).toBe(200);
    expectBounded(projector);
    await fleet.stop();
    await cut();
  }, 180_000);

  test(`a fan-out to ${dependents} documents delays no other partition, and continues after a kill`, async () => {
    const messages = collectionOf(testEnvironment.database, 'message');
    const renamed = { orgId: 'org_1', 'joined.author.name': 'Countess' };
    const thread = Array.from({ length: dependents }, (_, index) => created('message', `msg_${index}`));
    await publish([created('contact', 'con_1'), ...thread]);
    fleet = createFleet(testEnvironment, heap);
    const first = fleet.add();
    const startedAt = performance.now();
    await applied(testEnvironment, fleet.fatal);
    print(`${dependents} messages applied in ${secondsSince(startedAt)} s`);
    // given a rename in progress
    await publish([created('contact', 'con_1', { name: 'Countess' }, 2)]);
    await eventually(async () => (await messages.findOne(renamed)) !== null, fleet.fatal);
    // then events of other partitions are applied meanwhile
    const delays: number[] = [];
    for (let version = 1; version <= 5; version += 1) {
      const publishedAt = performance.now();
      await publish([created('tag', 'tag_1', {}, version)]);
      const tags = collectionOf(testEnvironment.database, 'tag');
      await eventually(async () => (await tags.findOne({ _id: 'tag_1' }))?.version === version, fleet.fatal);
      delays.push(Math.round(performance.now() - publishedAt));
    }
    // when it is killed during the fan-out, after it has saved its cursor
    const savedCursor = async () =>
      (await collectionOf<StoredDocument>(testEnvironment.database, 'contact').findOne({ _id: 'con_1' }))
        ?.fanOutCursor;
    await eventually(async () => (await savedCursor()) !== undefined, fleet.fatal);
    expect(await messages.countDocuments(renamed)).toBeLessThan(dependents);
    expectBounded(first);
    await fleet.kill(first);
    const cursor = await savedCursor();
    const done = await messages.find(renamed, { projection: { revision: 1 } }).toArray();
    print(`tags came through in ${delays.join(', ')} ms; ${done.length} done before the kill`);
    const second = fleet.add();
    const resumedAt = performance.now();
    await applied(testEnvironment, fleet.fatal);
    print(`the other ${dependents - done.length} in ${secondsSince(resumedAt)} s`);
    // then the fan-out is completed, and documents before the cursor are not refreshed again
    expect(await messages.countDocuments(renamed)).toBe(dependents);
    const refreshed = done.filter(({ _id }) => _id <= (cursor?.after ?? ''));
    expect(refreshed.length).toBeGreaterThan(0);
    const before = new Map(refreshed.map(({ _id, revision }) => [_id, revision]));
    const after = await messages.find(renamed, { projection: { revision: 1 } }).toArray();
    const rewritten = after.filter(({ _id, revision }) => (before.get(_id) ?? revision) !== revision);
    expect(rewritten).toEqual([]);
    expectBounded(second);
  }, 1_800_000);
});

const secondsSince = (startMs: number) => ((performance.now() - startMs) / 1_000).toFixed(1);

/** Checks the peak memory of the process, as the kernel counts it. */
function expectBounded({ child }: Service): void {
  const peak = peakMegabytes(child);
  print(`${Math.round(peak)} MB resident at most`);
  expect(peak).toBeLessThan(residentMegabytesMax);
}
