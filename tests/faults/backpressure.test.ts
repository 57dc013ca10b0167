import { collectionOf } from '../../shared/store/connection.ts';
import { created } from '../support/entities.ts';
import { type Event } from '../support/events.ts';
import { peakMegabytes } from '../support/memory.ts';
import type { Service } from '../../infra/service.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';
import { shortSession } from './use-fault-servers.ts';

/** `FAN_OUT=200000 npm test -- tests/faults/backpressure` prints figures for a large fan-out. */
const dependents = Number(process.env.FAN_OUT ?? 10_000);
/** The heap of a projector is limited to 128 MB: it would crash if it needed more. */
const heap = { ...shortSession, NODE_OPTIONS: '--max-old-space-size=128' };
/** The most memory, in megabytes, that the projector may take with that heap under any load. */
const residentMegabytesMax = 380;

/** Prints figures for measurements. */
const print = (line: string) => {
  if (process.env.FAN_OUT) process.stdout.write(`${line}\n`);
};

describe('load limits only the speed', () => {
  const { environment, applied, fatal, find, startProcess, ...projector } = useProjector({
    partitions: 2,
    each: true,
    projectors: 0,
  });

  const publish = async (events: Event[], atOnce = 1_000) => {
    for (let start = 0; start < events.length; start += atOnce)
      await projector.publish(...events.slice(start, start + atOnce));
  };

  test('200 records of 900 KB with a slow MongoDB take bounded memory', async () => {
    const { trouble, listen, cut } = createStoreProxy(environment.config.MONGODB_URL);
    trouble.delayMs = 50;
    const port = await listen(0);
    const content = 'x'.repeat(900_000);
    for (let index = 0; index < 200; index += 1)
      await publish([created('message', `msg_${index}`, { content })]);
    const projector = startProcess({ ...heap, MONGODB_URL: proxiedUrl(port), QUEUED_MEGABYTES_MAX: '32' });
    await applied();
    expect(await collectionOf(environment.database, 'message').countDocuments()).toBe(200);
    expectBounded(projector);
    await projector.stop();
    await cut();
  }, 180_000);

  test(`a fan-out to ${dependents} documents delays no other partition, and continues after a kill`, async () => {
    const messages = collectionOf(environment.database, 'message');
    const renamed = { orgId: 'org_1', 'joined.author.name': 'Countess' };
    const thread = Array.from({ length: dependents }, (_, index) => created('message', `msg_${index}`));
    await publish([created('contact', 'con_1'), ...thread]);
    const first = startProcess(heap);
    const startedAt = performance.now();
    await applied();
    print(`${dependents} messages applied in ${secondsSince(startedAt)} s`);
    // given a rename in progress
    await publish([created('contact', 'con_1', { name: 'Countess' }, 2)]);
    await eventually(async () => (await messages.findOne(renamed)) !== null, fatal);
    // then events of other partitions are applied meanwhile
    const delays: number[] = [];
    for (let version = 1; version <= 5; version += 1) {
      const publishedAt = performance.now();
      await publish([created('tag', 'tag_1', {}, version)]);
      await eventually(async () => (await find('tag', 'tag_1'))?.version === version, fatal);
      delays.push(Math.round(performance.now() - publishedAt));
    }
    // when it is killed during the fan-out, after it has saved its cursor
    const savedCursor = async () => (await find('contact', 'con_1'))?.fanOutCursor;
    await eventually(async () => (await savedCursor()) !== undefined, fatal);
    expect(await messages.countDocuments(renamed)).toBeLessThan(dependents);
    expectBounded(first);
    await first.stop('SIGKILL');
    const cursor = await savedCursor();
    const done = await messages.find(renamed, { projection: { revision: 1 } }).toArray();
    print(`tags came through in ${delays.join(', ')} ms; ${done.length} done before the kill`);
    const second = startProcess(heap);
    const resumedAt = performance.now();
    await applied();
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
