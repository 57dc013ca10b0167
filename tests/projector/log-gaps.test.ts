import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { readLedgerRecords, readSkip, storeSkip } from '../../shared/control/ledger-store.ts';
import { readLogGaps } from '../../shared/control/log-gaps.ts';
import { progressOf, readWatermark as readWatermark } from '../../shared/control/progress.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import { encode, type Event } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { containing } from '../support/matchers.ts';
import { useProjector } from '../support/use-projector.ts';

/*
 * A gap that a projector has found stops its generation, however long the log is at the next start: its later records
 * at lost offsets would be skipped. Only an operator can let the generation continue.
 */
describe('a gap in the log', () => {
  const { environment, topic, publish, applied, start, find, cli, deleteRecords } = useProjector({
    each: true,
    projectors: 0,
  });
  const tags = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => created('tag', `tag_${from + index}`));
  const gaps = (generation = 1) => readLogGaps(environment.control, generation);
  /** Starts a projector, which ends by itself because it finds a gap. */
  const findGap = async (options: Parameters<typeof start>[0] = {}) => {
    const projector = await start(options);
    await eventually(() => projector.fatal.length > 0);
    await projector.stop();
  };
  /** Sets the time of the last saved progress. Once it is old, ended projectors count as ended. */
  const setSavedAt = (ms: number) =>
    progressOf(environment.control).updateMany({}, { $set: { updatedAt: new Date(ms) } });
  const letTimePass = () => setSavedAt(Date.now() - 60_000);
  const applyAndStop = async (...events: Parameters<typeof publish>) => {
    await publish(...events);
    const projector = await start();
    await applied();
    await projector.stop();
  };
  /** Moves the recorded position beyond the log's end, as if the log had lost its last records. */
  const loseRecords = (count: number) =>
    progressOf(environment.control).updateOne(
      { topic: topic('tag') },
      { $inc: { 'applied.position': count } },
    );

  test('prevents later starts although the log has grown past the position', async () => {
    // The log no longer has five applied records, and a projector has found this gap.
    await applyAndStop(...tags(0, 5));
    await loseRecords(6);
    await findGap();
    await publish(...tags(5, 10));
    const lost = 'has read the log up to offset 10, but the log has lost those records from 5 on';
    await expect(start()).rejects.toThrow(lost);
    const status = JSON.parse((await cli('status', '--json')).text) as unknown;
    const finding = { name: 'projectors', severity: 'bad', text: containing(lost) };
    expect(status).toMatchObject({ generations: [{ findings: [finding] }] });
    // A build would lack records that the read model still has.
    expect((await cli('rebuild', 'start')).text).toContain('the build will lack records that the read model');
  });

  /** A projector has found that the log lost applied records from offset 5 on. The log has other records there now. */
  const causeGap = async () => {
    await applyAndStop(...tags(0, 5));
    await loseRecords(6);
    await findGap();
    await publish(...tags(5, 10));
  };
  const accept = (...options: string[]) => cli('accept', 'gap', '1', '--why', 'they were tests', ...options);

  test('is not accepted while a projector may still run', async () => {
    await causeGap();
    // A projector that has just saved progress may still run. A time in the future holds on a busy machine, too.
    await setSavedAt(Date.now() + 3_600_000);
    expect((await accept()).text).toContain('refused: projectors of generation 1 have saved progress');
  });

  test('is not accepted by a dry run', async () => {
    await causeGap();
    const before = await gaps();
    await letTimePass();
    const dry = await accept('--dry-run');
    expect(dry).toMatchObject({ code: 0, text: containing('nothing was changed') });
    expect(dry.text).toContain('would be accepted');
    expect(dry.text).not.toContain('is accepted');
    expect(before).toHaveLength(1);
    expect(await gaps()).toEqual(before);
  });

  test('ends when an operator accepts it', async () => {
    await causeGap();
    await letTimePass();
    expect(await accept()).toMatchObject({
      code: 0,
      text: containing(`${topic('tag')}/0 continues at offset 5`),
    });
    const history = (await cli('rebuild', 'history')).text;
    expect(history).toMatch(/by \S+: they were tests; accepted gap: \S+ continues at offset 5/);
    await start();
    await applied();
    expect(await find('tag', 'tag_5')).toMatchObject({ state: { id: 'tag_5' } });
    expect(await gaps()).toEqual([]);
    expect((await accept()).text).toContain('refused: generation 1 has nothing to accept as "gap"');
  });

  test('ends the skips, tombstones and dead letters at lost offsets when an operator accepts it', async () => {
    await causeGap();
    const place = { topic: topic('tag'), partition: 0, offset: 6 };
    const skip = { generations: [1], by: 'ann', why: 'tests', at: new Date() };
    const placeBeforeGap = { ...place, offset: 4 };
    for (const skipped of [placeBeforeGap, place]) await storeSkip(environment.control, skipped, skip);
    const beforeGap = await storeDeadLetter(environment, created('tag', 'tag_1'), { offset: 4 });
    const inGap = await storeDeadLetter(environment, created('tag', 'tag_7'), { offset: 7 });
    const tombstonePosition = { partition: 0, offset: 9, timestampMs: Date.now() };
    const deleted = { orgId: null, version: 0, revision: 1, position: null, deletedAt: new Date() };
    await collectionOf<StoredDocument>(environment.database, 'tag').insertOne({
      _id: 'tag_5',
      ...deleted,
      tombstonePosition,
    });
    await letTimePass();
    expect((await accept()).code).toBe(0);
    await start();
    await applied();
    expect(await find('tag', 'tag_5')).toMatchObject({ state: { id: 'tag_5' } });
    expect(await readSkip(environment.control, place)).toBeNull();
    // The log still has this record, and it may stop its partition again.
    expect(await readSkip(environment.control, placeBeforeGap)).not.toBeNull();
    const letters = await readLedgerRecords(environment.control, [beforeGap, inGap]);
    expect([beforeGap, inGap].map((id) => letters.get(id)?.isLost)).toEqual([false, true]);
  });

  test('is not stored by a projector that is refused for another Kafka cluster', async () => {
    await applyAndStop(...tags(0, 2), created('contact', 'con_1'));
    await progressOf(environment.control).updateMany({}, { $set: { 'applied.topicId': '1'.repeat(32) } });
    await expect(start()).rejects.toThrow(
      'has applied topics of these names on another Kafka cluster (2 topics',
    );
    expect(await gaps()).toEqual([]);
  });

  test('is found if the log loses its beginning before the first start', async () => {
    await publish(...tags(0, 5));
    await deleteRecords('tag', 2);
    await findGap();
    expect(await gaps()).toMatchObject([{ kind: 'deleted', from: 0, to: 1 }]);
    await letTimePass();
    await cli('accept', 'gap', '1', '--why', 'as expected');
    await start();
    await applied();
    expect(await find('tag', 'tag_1')).toBeNull();
    expect(await find('tag', 'tag_2')).not.toBeNull();
  });

  test('is found if the log loses its beginning between the start of a rebuild and the first fetch', async () => {
    await applyAndStop(...tags(0, 5));
    expect(await cli('rebuild', 'start')).toMatchObject({ code: 0 });
    await deleteRecords('tag', 3);
    await findGap({ settings: { GENERATION: 2 } });
    expect(await gaps(2)).toMatchObject([{ kind: 'deleted', from: 0, to: 2 }]);
    // The served generation continues.
    await start();
    await applied();
  });
});

/* The offsets of a topic that was created again mean other records, and it may have fewer partitions. */
describe('a topic that was created again with fewer partitions', () => {
  const { environment, topic, publish, send, applied, start, find, cli, status, recreateTopic } =
    useProjector({ each: true, partitions: 3, projectors: 0 });
  const tags = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => created('tag', `tag_${from + index}`));
  const progress = () =>
    progressOf(environment.control)
      .find({ topic: topic('tag') })
      .sort({ partition: 1 })
      .toArray();
  const watermark = async () => (await readWatermark(environment.control, 1))?.getTime() ?? 0;
  /** Makes the saved progress old enough that ended projectors count as ended. */
  const letTimePass = () =>
    progressOf(environment.control).updateMany({}, { $set: { updatedAt: new Date(Date.now() - 60_000) } });
  /** A topic with applied records that was created again with one partition, and has `count` other records. */
  const recreateAppliedTopic = async (count: number) => {
    await publish(...tags(0, 12));
    const projector = await start();
    await applied();
    await projector.stop();
    await recreateTopic('tag', 1);
    await publish(...tags(100, count));
  };

  test.each([
    ['shorter', 2],
    ['longer', 30],
  ])('is read from its beginning after the gap is accepted: the new log is %s', async (_, count) => {
    await recreateAppliedTopic(count);
    const projector = await start();
    await eventually(() => projector.fatal.length > 0);
    await projector.stop();
    await letTimePass();
    const accept = (...options: string[]) => cli('accept', 'gap', '1', '--why', 'tests', ...options);
    const before = await progress();
    const dry = await accept('--dry-run');
    expect(dry).toMatchObject({ code: 0 });
    const log = topic('tag');
    for (const text of [
      `${log}/0 continues at offset 0, because the topic was created again: its new log, which ends at offset`,
      `${log}/1 no longer exists: its progress, up to offset`,
      `${log}/2 no longer exists`,
    ])
      expect(dry.text).toContain(text);
    expect(await progress()).toEqual(before);
    // The new log has another record at a skipped offset.
    const place = { topic: log, partition: 0, offset: 0 };
    const skip = { generations: [1], by: 'ann', why: 'tests', at: new Date() };
    await storeSkip(environment.control, place, skip);
    expect(await accept()).toMatchObject({ code: 0 });
    await start();
    await applied();
    for (const tag of tags(100, count)) expect(await find('tag', tag.id)).not.toBeNull();
    expect(await readSkip(environment.control, place)).toBeNull();
    expect((await progress()).map(({ partition }) => partition)).toEqual([0]);
    const watermarkBefore = await watermark();
    await eventually(async () => (await watermark()) > watermarkBefore);
  });

  test('replaces the order of the former topic by the order of its new log', async () => {
    // The last record of tag_1 in the former topic is a tombstone.
    const former: Event[] = [...tags(100, 20), created('tag', 'tag_1')];
    former.push({ ...created('tag', 'tag_1'), op: 'tombstone' });
    former.push(created('tag', 'tag_2'));
    await send('tag', ...former.map((event) => ({ ...encode(event, 'binary'), partition: 0 })));
    const firstProjector = await start();
    await applied();
    await firstProjector.stop();
    expect(await find('tag', 'tag_1')).not.toHaveProperty('state');
    // The source creates tag_1 again in the new topic.
    await recreateTopic('tag', 1);
    const tombstone: Event = { ...created('tag', 'tag_2'), op: 'tombstone' };
    await publish(created('tag', 'tag_1', { name: 'again' }, 2), ...tags(200, 1), tombstone);
    const secondProjector = await start();
    await eventually(() => secondProjector.fatal.length > 0);
    await secondProjector.stop();
    await letTimePass();
    expect(await cli('accept', 'gap', '1', '--why', 'tests')).toMatchObject({ code: 0 });
    await start();
    await applied();
    expect(await find('tag', 'tag_1')).toMatchObject({ version: 2, state: { name: 'again' } });
    // A tombstone of the new log deletes a tag of the former log.
    expect(await find('tag', 'tag_2')).not.toHaveProperty('state');
  });

  test('is named by the status if only the progress of lost partitions shows the change', async () => {
    await recreateAppliedTopic(2);
    // Brokers without topic ids leave only the positions, which are within the new log.
    await progressOf(environment.control).updateMany(
      { topic: topic('tag') },
      { $set: { applied: { position: 2 } } },
    );
    expect(await status()).toMatch(
      /\/1 \(and 1 further partition\) no longer exists, because the topic has 1 partition now/,
    );
    expect(await status()).toContain('or accept it: npx support-cli accept gap 1 --why <reason>');
    expect(await cli('accept', 'gap', '--why', 'tests')).toMatchObject({ code: 0 });
    expect(await status()).not.toContain('no longer exists');
  });
});
