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

/** `FAN_OUT=200000 npm test -- tests/faults/backpressure` prints what the largest one does. */
const dependents = Number(process.env.FAN_OUT ?? 10_000);
/** The heap that a projector is given, in megabytes: one that needed more would end. */
const heap = { NODE_OPTIONS: '--max-old-space-size=128' };
/** What it may hold at most with that heap, whatever comes. */
const residentMegabytesMax = 380;

/** Figures for who measures, not for the test. */
const say = (line: string) => {
  if (process.env.FAN_OUT) process.stdout.write(`${line}\n`);
};

describe('load bounds nothing but speed', () => {
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

  test('200 records of 900 KB before a slow store take bounded memory', async () => {
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

  test(`a fan-out to ${dependents} documents holds up no other partition, and goes on after a kill`, async () => {
    const messages = collectionOf(testEnvironment.database, 'message');
    const renamed = { orgId: 'org_1', 'joined.author.name': 'Countess' };
    const thread = Array.from({ length: dependents }, (_, index) => created('message', `msg_${index}`));
    await publish([created('contact', 'con_1'), ...thread]);
    fleet = createFleet(testEnvironment, heap);
    const first = fleet.add();
    const startedAt = performance.now();
    await applied(testEnvironment, fleet.fatal);
    say(`${dependents} messages applied in ${secondsSince(startedAt)} s`);
    // given a rename under way
    await publish([created('contact', 'con_1', { name: 'Countess' }, 2)]);
    await eventually(async () => (await messages.findOne(renamed)) !== null, fleet.fatal);
    // then events of other partitions come through meanwhile
    const delays: number[] = [];
    for (let version = 1; version <= 5; version += 1) {
      const publishedAt = performance.now();
      await publish([created('tag', 'tag_1', {}, version)]);
      const tags = collectionOf(testEnvironment.database, 'tag');
      await eventually(async () => (await tags.findOne({ _id: 'tag_1' }))?.version === version, fleet.fatal);
      delays.push(Math.round(performance.now() - publishedAt));
    }
    // when it is killed in the midst of it, having noted how far it has come
    const noted = async () =>
      (await collectionOf<StoredDocument>(testEnvironment.database, 'contact').findOne({ _id: 'con_1' }))
        ?.fanOutCursor;
    await eventually(async () => (await noted()) !== undefined, fleet.fatal);
    expect(await messages.countDocuments(renamed)).toBeLessThan(dependents);
    expectBounded(first);
    await fleet.kill(first);
    const place = await noted();
    const done = await messages.find(renamed, { projection: { revision: 1 } }).toArray();
    say(`tags came through in ${delays.join(', ')} ms; ${done.length} done before the kill`);
    const second = fleet.add();
    const resumedAt = performance.now();
    await applied(testEnvironment, fleet.fatal);
    say(`the other ${dependents - done.length} in ${secondsSince(resumedAt)} s`);
    // then the rest is done, and what stands before that place is not visited again
    expect(await messages.countDocuments(renamed)).toBe(dependents);
    const visited = done.filter(({ _id }) => _id <= (place?.after ?? ''));
    expect(visited.length).toBeGreaterThan(0);
    const before = new Map(visited.map(({ _id, revision }) => [_id, revision]));
    const after = await messages.find(renamed, { projection: { revision: 1 } }).toArray();
    const rewritten = after.filter(({ _id, revision }) => (before.get(_id) ?? revision) !== revision);
    expect(rewritten).toEqual([]);
    expectBounded(second);
  }, 1_800_000);
});

const secondsSince = (startMs: number) => ((performance.now() - startMs) / 1_000).toFixed(1);

/** The most that the process has ever held, as the kernel counts it. */
function expectBounded({ child }: Service): void {
  const peak = peakMegabytes(child);
  say(`${Math.round(peak)} MB resident at the most`);
  expect(peak).toBeLessThan(residentMegabytesMax);
}
