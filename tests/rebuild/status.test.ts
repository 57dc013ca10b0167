import * as verbs from '../../services/cli/rebuild/verbs.ts';
import { explain } from '../../services/operations/explain/explain.ts';
import { type Facts, readFacts } from '../../services/operations/facts.ts';
import { reportOf } from '../../services/operations/report.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { projectionVersion } from '../../shared/control/generations.ts';
import { storeLogGaps } from '../../shared/control/log-gaps.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { containing } from '../support/matchers.ts';
import { generation, present, secondsBefore, useRebuild } from './fixture.ts';

const rebuild = useRebuild();

describe('rebuild status', () => {
  test('shows the state of every living generation', async () => {
    await rebuild.storeGenerations([
      generation(1, 'active'),
      generation(2, 'catching-up'),
      generation(3, 'dropped'),
    ]);
    await rebuild.announceReplica();
    // One partition of each was last saved a minute ago: projectors run all the same.
    await progressOf(rebuild.control).updateMany(
      { topic: rebuild.topics[0] ?? '' },
      { $set: { updatedAt: secondsBefore(60) } },
    );
    const { generations, ...status } = await rebuild.status();
    expect(status).toMatchObject({ verdict: 'well', sentence: 'All is well.', active: 1, findings: [] });
    const same = { projectionVersion, watermark: secondsBefore(6), lagSeconds: 1, lag: 0, savedAt: present };
    expect(generations).toMatchObject([
      { ...same, number: 1, state: 'active', condition: 'active', afterLoad: 0, findings: [] },
      {
        ...same,
        number: 2,
        condition: 'catching-up',
        findings: [{ name: 'state', severity: 'progress', fix: 'npx support-cli rebuild await 2' }],
      },
    ]);
    expect(generations[0]?.topics.map(({ topic }) => topic)).toEqual(rebuild.topics.toSorted());
  });

  /** Generation 1 has applied records of a topic that was then created again, and no record of another topic. */
  const storeRecreatedTopic = async () => {
    await rebuild.storeGenerations([generation(1, 'active')]);
    const [topic = '', unreadTopic = ''] = rebuild.topics.toSorted();
    await rebuild.recreateTopic(1, topic);
    await progressOf(rebuild.control).updateMany(
      { topic: unreadTopic },
      { $set: { 'applied.position': 0, 'applied.topicId': '2'.repeat(32) } },
    );
    return topic;
  };

  test('shows an unknown lag for a topic that was created again', async () => {
    const topic = await storeRecreatedTopic();
    const { generations } = await rebuild.status();
    expect(generations[0]).toMatchObject({ condition: 'stopped', findings: [{ isFinal: true }] });
    expect(generations[0]?.topics[0]).toMatchObject({ topic, position: 31, end: 0, lag: null });
  });

  test('shows an unknown age of the data while a partition has applied nothing', async () => {
    await storeRecreatedTopic();
    await rebuild.setWatermark(1, new Date(0));
    expect((await rebuild.status()).generations[0]?.lagSeconds).toBeNull();
  });

  test('shows everything that MongoDB stores although Kafka does not answer', async () => {
    await rebuild.storeGenerations([generation(1, 'active'), generation(2, 'ready')]);
    await rebuild.deadLetter({ generations: [1, 2] });
    const silent = () => new Promise<never>(() => undefined);
    const { log } = rebuild.deps();
    let shown: Promise<Facts> | undefined;
    const show = () => {
      shown ??= readFacts(rebuild.deps(), silent, null);
      return shown;
    };
    const read = async (topics: string[]) => {
      // The status began to wait later than the verb, and gives up first.
      await show();
      return log.read(topics);
    };
    const awaited = await rebuild.run(
      verbs.printReadiness,
      { generation: 2, timeout: 0 },
      { log: { ...log, read } },
    );
    expect(awaited).toMatchObject({ exitCode: 0, text: containing('follows the log') });
    const status = reportOf(await show());
    expect(status).toMatchObject({ active: 1, deadLetters: 1, verdict: 'bad' });
    expect(status.findings.map(({ text }) => text)).toContain(
      'Kafka (KAFKA_BROKERS): no answer for 3 s. If the brokers are down, restore them: the projectors continue by themselves',
    );
    const topics = rebuild.topics.map(() => ({ lag: null }));
    const shownFromMongo = { watermark: secondsBefore(6), lagSeconds: 1, topics };
    expect(status.generations[0]).toMatchObject(shownFromMongo);
  });
});

describe('rebuild await', () => {
  test.each<{
    name: string;
    arrange: () => Promise<unknown>;
    exitCode: number;
    output: object;
    text: string;
  }>([
    {
      name: 'names the reason for which the build waits when its time is up',
      arrange: () =>
        progressOf(rebuild.control).updateMany({ generation: 2 }, { $set: { updatedAt: secondsBefore(60) } }),
      exitCode: 1,
      output: { outcome: 'time is up', findings: [{ name: 'projectors' }, { name: 'state' }] },
      text: 'time is up: generation 2: no projector has run since ',
    },
    {
      name: 'ends immediately if the build rejects records that the API serves',
      arrange: () => rebuild.deadLetter(),
      exitCode: 3,
      output: { outcome: 'failing', findings: [{ name: 'rejects' }, { name: 'state' }] },
      text: '(not_json: no JSON)',
    },
    {
      name: 'ends immediately if no wait can help the build',
      arrange: () =>
        storeLogGaps(
          { control: rebuild.control, generation: 2, by: 'projector' },
          [{ topic: 'tags', partition: 0, kind: 'deleted', from: 3, to: 7, topicId: null }],
          present,
        ),
      exitCode: 3,
      output: { outcome: 'stopped', findings: [{ name: 'projectors' }] },
      text: 'tags/0: the records from offset 3 to 7 are gone',
    },
  ])('$name', async ({ arrange, exitCode, output, text }) => {
    await rebuild.storeGenerations([generation(1, 'active'), generation(2, 'building')]);
    await arrange();
    // Only the command that exits with code 1 waits until its time is up.
    const options = { generation: 2, timeout: exitCode === 1 ? 0 : 600 };
    expect(await rebuild.runJson(verbs.printReadiness, options)).toMatchObject({ exitCode, output });
    expect((await rebuild.run(verbs.printReadiness, options)).text).toContain(text);
  });
});

test('explain shows the document of the served generation before those of other generations', async () => {
  await rebuild.storeGenerations([generation(1, 'standby'), generation(2, 'active')]);
  await rebuild.setWatermark(1, secondsBefore(8));
  const tag = { _id: 'tag_1', orgId: 'org_1', version: 1, revision: 1, position: null };
  const state = { id: 'tag_1', name: 'Tag' };
  for (const number of [1, 2])
    await collectionOf<StoredDocument>(rebuild.databaseOf(number), 'tag').insertOne({ ...tag, state });
  const { completeTo, documents } = await explain({ ...rebuild, now: async () => present }, 'tag_1');
  expect(completeTo).toBe(secondsBefore(6).toISOString());
  expect(documents.map((document) => [document.generation, document.differsFromActive])).toEqual([
    [2, null],
    [1, []],
  ]);
});
