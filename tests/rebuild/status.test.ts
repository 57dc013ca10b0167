import { projectionVersion } from '../../shared/control/generations.ts';
import * as verbs from '../../services/cli/rebuild/verbs.ts';
import { failuresOf } from '../../shared/control/failures.ts';
import { progressOf, topicIdsOf } from '../../shared/control/progress.ts';
import { readFacts, type Facts } from '../../services/operations/facts.ts';
import { report } from '../../services/operations/report.ts';
import { generation, useRebuild, present, secondsBefore } from './fixture.ts';

const rebuild = useRebuild();
const texts = (findings: { text: string }[] | undefined) => findings?.map(({ text }) => text);

describe('an operator is told', () => {
  const wait = (timeout = 0) => ({ generation: 2, timeout });

  test('the state of every living generation, and that a build is on its way', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'catching-up'), generation(3, 'dropped')]);
    await rebuild.announceReplica();
    const { generations, ...status } = await rebuild.status();
    expect(status).toMatchObject({ verdict: 'well', sentence: 'All is well.', active: 1, findings: [] });
    const same = { projectionVersion, watermark: secondsBefore(6), lagSeconds: 1, lag: 0, savedAt: present };
    expect(generations).toMatchObject([
      { ...same, number: 1, state: 'active', condition: 'active', afterLoad: 0, findings: [] },
      {
        ...same,
        number: 2,
        condition: 'catching-up',
        findings: [{ name: 'state', severity: 'progress', remedy: 'npx support-cli rebuild await 2' }],
      },
    ]);
    expect(generations[0]?.topics.map(({ topic }) => topic)).toEqual(rebuild.topics.toSorted());
    expect(status.printed).toContain('  next       it is catching-up: 0 records to apply\n');
  });

  test('that the time is up, and why the build waits', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'building')]);
    await progressOf(rebuild.control).updateMany(
      { generation: 2 },
      { $set: { updatedAt: secondsBefore(60) } },
    );
    const { output, exitCode } = await rebuild.runJson(verbs.awaitVerb, wait());
    expect({ output, exitCode }).toMatchObject({
      exitCode: 1,
      output: { generation: 2, outcome: 'time is up', findings: [{ name: 'projectors' }, { name: 'state' }] },
    });
    const { text } = await rebuild.run(verbs.awaitVerb, wait());
    expect(text).toContain('time is up: generation 2: no projector has run since');
    expect(text).toContain('GENERATION=2 npm run projector');
  });

  test('that a build fails because it rejects records that the API serves', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'building')]);
    await rebuild.deadLetter();
    expect(await rebuild.runJson(verbs.awaitVerb, wait(600))).toMatchObject({
      exitCode: 3,
      output: {
        outcome: 'failing',
        findings: [
          { name: 'rejects', text: expect.stringContaining('(not_json: no JSON)') as string },
          { name: 'state' },
        ],
      },
    });
  });

  test('at once if waiting for a generation cannot help, and why', async () => {
    // given a projector of the build that ended at a gap in the log
    await rebuild.given([generation(1, 'active'), generation(2, 'catching-up')]);
    const reason = 'tags/0: the records from offset 3 to 7 are gone';
    await failuresOf(rebuild.control).insertOne({
      _id: 2,
      reason,
      isFinal: true,
      by: 'projector',
      at: present,
    });
    expect(await rebuild.runJson(verbs.awaitVerb, wait(600))).toMatchObject({
      exitCode: 3,
      output: { outcome: 'stopped' },
    });
    const { printed } = await rebuild.status();
    expect(printed).toContain('generation 2  stopped (catching-up)');
    expect(printed).toMatch(
      /attention {2}its projectors ended at .*: tags\/0: the records .*\n +npx support-cli rebuild drop 2\n/,
    );
    expect(printed).not.toContain('GENERATION=2 npm run projector');
  });

  test('that a topic of the active generation was created again, so that its lag is unknown', async () => {
    await rebuild.given([generation(1, 'active')]);
    const [topic = '', unread = ''] = rebuild.topics.toSorted();
    await rebuild.recreateTopic(1, topic);
    // Of this one no record was applied.
    const identity = { generation: 1, topic: unread, topicId: '2'.repeat(32) };
    await topicIdsOf(rebuild.control).insertOne({ _id: `1/${unread}`, ...identity });
    const { generations, printed } = await rebuild.status();
    expect(generations[0]).toMatchObject({ condition: 'stopped', findings: [{ isFinal: true }] });
    expect(generations[0]?.topics[0]).toMatchObject({ topic, position: 31, end: 0, lag: null });
    expect(printed).toContain(`${topic}: deleted and created again`);
    expect(printed).toContain('npx support-cli rebuild start');
  });

  test('that the log of a partition cannot be read, so that its lag is unknown', async () => {
    await rebuild.given([generation(1, 'active')]);
    const [topic = ''] = rebuild.topics.toSorted();
    const { log } = rebuild.deps();
    const read = async (topics: string[]) => {
      const state = await log.read(topics);
      state.ends.delete(`${topic}/0`);
      return { ...state, unreachable: [{ broker: '7', error: new Error('connect ECONNREFUSED') }] };
    };
    const { generations, findings } = await rebuild.status({ log: { read } });
    const [partition, ...others] = generations[0]?.partitions ?? [];
    expect(others).toHaveLength(rebuild.topics.length - 1);
    expect(partition).toMatchObject({ topic, partition: 0, position: 0, lag: null, cause: 'unreadable' });
    expect(texts(findings)).toEqual([
      `${topic}/0: its log cannot be read, because no leader answers, or it reports an error`,
      'no API replica is live',
      'broker 7 does not answer: connect ECONNREFUSED',
    ]);
  });

  test('that the active generation lags, held by which partition, and that it missed tombstones', async () => {
    await rebuild.given([generation(1, 'active', { longestBehindSeconds: 8 * 24 * 3_600 })]);
    await rebuild.setWatermark(1, secondsBefore(65));
    const [topic = ''] = rebuild.topics.toSorted();
    const behind = { completeTo: secondsBefore(65), cause: 'failing' as const };
    await progressOf(rebuild.control).updateOne({ _id: `1/${topic}/0` }, { $set: behind });
    const { generations, sentence } = await rebuild.status();
    expect(sentence).toBe('Stale: Data-As-Of lags by 60 s.');
    expect(generations[0]?.condition).toBe('lagging');
    expect(texts(generations[0]?.findings)).toEqual([
      expect.stringContaining('it may hold erased entities'),
      `it lags by 60 s, held by ${topic}/0: 0 records to apply, no projector applies a partition`,
    ]);
  });

  test('that the lag is unknown while a partition has applied nothing', async () => {
    await rebuild.given([generation(1, 'active')]);
    await rebuild.setWatermark(1, new Date(0));
    const { generations, sentence } = await rebuild.status();
    expect(generations[0]?.lagSeconds).toBeNull();
    expect(sentence).toMatch(/^First load: 0 of 0 records applied, so there is no Data-As-Of yet/);
  });

  test('everything that lies in MongoDB while Kafka is away; `rebuild await` gives it longer', async () => {
    await rebuild.given([generation(1, 'active'), generation(2, 'ready')]);
    await rebuild.deadLetter({ generations: [1, 2] });
    const silent = () => new Promise<never>(() => undefined);
    const { log } = rebuild.deps();
    let shown: Promise<Facts> | undefined;
    const show = () => (shown ??= readFacts(rebuild.deps(), silent, null));
    const read = async (topics: string[]) => {
      // The status began to wait later than the verb, and gives up first.
      await show();
      return log.read(topics);
    };
    const awaited = await rebuild.run(verbs.awaitVerb, wait(), { log: { read } });
    expect(awaited).toMatchObject({
      exitCode: 0,
      text: expect.stringContaining('follows the log') as string,
    });
    const status = report(await show());
    expect(status).toMatchObject({ active: 1, deadLetters: 1, verdict: 'bad' });
    expect(texts(status.findings)).toContain(
      'Kafka (KAFKA_BROKERS): no answer for 3 s. If the brokers are down, restore them: the projectors continue by themselves',
    );
    const [own] = status.generations;
    expect(own).toMatchObject({ watermark: secondsBefore(6), lagSeconds: 1 });
    expect(own?.topics).toHaveLength(rebuild.topics.length);
    for (const { lag } of own?.topics ?? []) expect(lag).toBeNull();
  });
});
