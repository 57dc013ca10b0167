import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { acceptFinding } from '../../services/operations/accept/accept.ts';
import type { OperatorDeps } from '../../services/operations/deps.ts';
import { compareWithActive } from '../../services/operations/rebuild/compare-generations.ts';
import { dropGeneration } from '../../services/operations/rebuild/drop.ts';
import { startRebuild } from '../../services/operations/rebuild/start.ts';
import { readLogGaps, storeLogGaps } from '../../shared/control/log-gaps.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { createMongo } from '../../shared/store/connection.ts';
import { createAnsweringProxy } from '../support/answering-proxy.ts';
import { mebibyte } from '../support/memory.ts';
import { openStore } from '../support/open-store.ts';
import { proxiedUrl } from '../support/store-proxy.ts';
import { generation, secondsBefore, useRebuild } from './fixture.ts';

const rebuild = useRebuild();

/** Expects that a command changes nothing in the control database, and fails with an error that has these texts. */
async function expectRefused(command: () => Promise<unknown>, ...texts: string[]): Promise<void> {
  const before = await rebuild.controlDocuments();
  const error = await command().then(
    () => new Error('it was not refused'),
    (reason: unknown) => reason as Error,
  );
  for (const text of texts) expect(error.message).toContain(text);
  expect(await rebuild.controlDocuments()).toEqual(before);
}

describe('the start of a rebuild', () => {
  const start = (changes: Partial<OperatorDeps> = {}) => startRebuild(rebuild.deps(changes), { why: 'test' });
  const acceptTruncated = (changes: Partial<OperatorDeps>) => {
    const deps = rebuild.deps(changes);
    return acceptFinding({ ...deps, kafka: deps }, { finding: 'truncated', why: 'test' });
  };
  beforeEach(() => rebuild.storeGenerations([generation(1, 'active')]));

  test('is refused before a projector has ever run', async () => {
    for (const collection of await rebuild.control.collections()) await collection.deleteMany({});
    await expectRefused(start, 'no projector has started on this database', 'DATABASE_NAME');
  });

  test('is refused if the registry is lost', async () => {
    await rebuild.control.collection('generations').deleteMany({});
    await expectRefused(start, 'the registry of generations is lost', 'is left: progress');
  });

  test('is refused until an operator accepts that the first records of a log are gone', async () => {
    const { topics } = await rebuild.topicWith({ 'cleanup.policy': 'compact,delete' });
    const [topic = ''] = topics;
    await rebuild.truncate(topic);
    const command = 'npx support-cli accept truncated 1 --why <reason>';
    await expectRefused(() => start({ topics }), `${topic}/0 begins at offset 2`, command);
    await acceptTruncated({ topics });
    // The acceptance covers the losses up to that time, and no later loss.
    await rebuild.truncate(topic, 3);
    await expectRefused(() => start({ topics }), `${topic}/0 begins at offset 3, not 2`, command);
    await acceptTruncated({ topics });
    expect(await start({ topics })).toBe(2);
    expect((await rebuild.registry()).generations[1]).toMatchObject({
      number: 2,
      state: 'building',
      loadTo: [{ topic, partition: 0, low: 3, end: 6 }],
    });
  });

  test('is refused until an operator accepts that a log ends before the applied records', async () => {
    const { topics } = await rebuild.topicWith({});
    const [topic = ''] = topics;
    await progressOf(rebuild.control).updateOne(
      { generation: 1 },
      { $set: { topic, partition: 0, 'applied.position': 9 } },
    );
    await expectRefused(
      () => start({ topics }),
      `${topic}/0 ends before offset 8, which generation 1 has applied`,
      'accept truncated 1',
    );
    await acceptTruncated({ topics });
    expect(await start({ topics })).toBe(2);
  });

  test('succeeds although a projector applies records after the command has read the log', async () => {
    const { topics } = await rebuild.topicWith({ 'min.cleanable.dirty.ratio': '0.9' });
    const [topic = ''] = topics;
    const { log } = rebuild.deps();
    const readBeforeRecords = async (names: string[]) => {
      const state = await log.read(names);
      const messages = [{ key: '1', value: '' }];
      await rebuild.producer.send({ topic, messages });
      const { ends } = await log.read(names);
      const [applied] = ends.values();
      await progressOf(rebuild.control).updateOne(
        { generation: 1 },
        { $set: { topic, partition: 0, 'applied.position': applied?.end } },
      );
      return state;
    };
    expect(await start({ topics, log: { ...log, read: readBeforeRecords } })).toBe(2);
  });

  test('reports a projector of the active generation that runs without its number', async () => {
    const report = jest.fn();
    await rebuild.announceProjector({ isPinned: false });
    expect(await start({ report })).toBe(2);
    expect(report).toHaveBeenLastCalledWith(
      expect.stringMatching(
        /^before the promotion: .* without GENERATION=1: .*: GENERATION=1 npm run projector$/,
      ),
    );
  });

  test('logs each step at debug level', async () => {
    const verb = ['services/cli/main.ts', 'rebuild', 'start', '--why', 'test'];
    const env = { PATH: process.env.PATH, ...rebuild.variables, LOG_LEVEL: 'debug' };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, verb, { env });
    expect(stdout).toContain('Generation 2 is registered');
    const lines = stderr.split('\n').filter((line) => line.includes('"msg":"step"'));
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { level: 'debug', verb: 'rebuild start', step: 'check' },
      { level: 'debug', verb: 'rebuild start', step: 'register' },
    ]);
  });

  test('is refused if a partition has no leader', async () => {
    const { log } = rebuild.deps();
    const read = async (topics: string[]) => ({ ...(await log.read(topics)), ends: new Map() });
    await expectRefused(() => start({ log: { ...log, read } }), 'because no leader answers');
  });

  test('is refused until an operator accepts that a topic is not compacted', async () => {
    const deps = await rebuild.topicWith({ 'cleanup.policy': 'delete' });
    await expectRefused(() => start(deps), 'is not compacted', 'set cleanup.policy=compact');
    await acceptTruncated(deps);
    expect(await start(deps)).toBe(2);
  });

  test('is always refused if a topic drops tombstones too soon', async () => {
    const deps = await rebuild.topicWith({ 'delete.retention.ms': '86400000' });
    const text = 'set delete.retention.ms to 259200000 or more';
    await expectRefused(() => start(deps), 'drops tombstones after 1 day ', text);
    await expectRefused(() => acceptTruncated(deps), 'generation 1 has nothing to accept as "truncated"');
  });

  /** Clients whose MongoDB reports this space: the server that the tests use does not know the size of its disk. */
  const withStats = async (stats: object): Promise<AsyncDisposable & Pick<OperatorDeps, 'mongo'>> => {
    const proxy = createAnsweringProxy(rebuild.config.MONGODB_URL);
    proxy.state.answer = ({ command }) => ('dbStats' in command ? stats : null);
    const mongo = createMongo(proxiedUrl(await proxy.listen()), 'test');
    const close = async () => {
      await mongo.close();
      await proxy.close();
    };
    return { mongo, [Symbol.asyncDispose]: close };
  };

  const space = { storageSize: 60 * mebibyte, indexSize: 40 * mebibyte, fsTotalSize: 1_000 * mebibyte };

  test('is refused without enough disk space', async () => {
    await using proxied = await withStats({ ...space, fsUsedSize: 851 * mebibyte });
    const refusal = 'MongoDB has 149 MB free, but the build needs 150 MB';
    await expectRefused(() => start({ mongo: proxied.mongo }), refusal, 'add space first');
  });

  test('succeeds with just enough disk space', async () => {
    await using proxied = await withStats({ ...space, fsUsedSize: 850 * mebibyte });
    expect(await start({ mongo: proxied.mongo })).toBe(2);
  });

  test('leaves no collection of its check of the right to write', async () => {
    expect(await start()).toBe(2);
    expect(await rebuild.databaseOf(2).listCollections().toArray()).toEqual([]);
  });
});

describe('a drop of a generation', () => {
  const drop = (options: { force?: boolean; dryRun?: boolean } = {}) =>
    dropGeneration(rebuild.deps(), 2, {
      force: false,
      dryRun: false,
      why: 'test',
      timeoutSeconds: 0,
      ...options,
    });

  beforeEach(async () => {
    await rebuild.storeGenerations([
      generation(1, 'active'),
      generation(2, 'standby', { since: secondsBefore(71 * 3_600) }),
      generation(3, 'dropped'),
    ]);
    await rebuild.insertDocument(1);
    await rebuild.insertDocument(2);
  });
  afterEach(async () => {
    for (const number of [1, 2]) {
      for (const collection of await rebuild.databaseOf(number).collections())
        await collection.deleteMany({});
    }
  });

  test('is refused for a standby younger than 72 hours unless it is forced', async () => {
    for (const dryRun of [false, true])
      await expectRefused(() => drop({ dryRun }), 'kept for 72 hours for a rollback', '--force');
    const gap = { topic: 'tags', partition: 0, kind: 'deleted', from: 0, to: 1, topicId: null } as const;
    await storeLogGaps({ control: rebuild.control, generation: 2, by: 'host' }, [gap], new Date(0));
    expect(await drop({ force: true })).toBe('dropped');
    expect(await rebuild.countDocuments(2)).toBe(0);
    expect(await readLogGaps(rebuild.control, 2)).toEqual([]);
    expect(await rebuild.countDocuments(1)).toBe(1);
  });

  test('removes nothing in a forced dry run', async () => {
    const gap = { topic: 'tags', partition: 0, kind: 'deleted', from: 0, to: 1, topicId: null } as const;
    await storeLogGaps({ control: rebuild.control, generation: 2, by: 'host' }, [gap], new Date(0));
    const before = await rebuild.controlDocuments();
    expect(await drop({ force: true, dryRun: true })).toBe('dry-run');
    expect(await rebuild.controlDocuments()).toEqual(before);
    expect(await rebuild.countDocuments(2)).toBe(1);
  });

  test('is refused while a replica serves the generation', async () => {
    await rebuild.announceReplica({ generation: 2 });
    for (const dryRun of [false, true])
      await expect(drop({ force: true, dryRun })).rejects.toThrow(
        'generation 2 is still read by process 41 on api-1, which serves it',
      );
    expect(await rebuild.states()).toMatchObject({ 1: 'active', 2: 'standby' });
    expect(await rebuild.countDocuments(2)).toBe(1);
    // A replica that has not announced itself for ten seconds counts as dead, and so do its requests.
    await rebuild.control.collection('processes').updateOne({}, { $set: { at: secondsBefore(11) } });
    expect(await drop({ force: true })).toBe('dropped');
    expect(await rebuild.countDocuments(2)).toBe(0);
  });

  test('removes the late writes of a projector when an operator repeats it', async () => {
    expect(await drop({ force: true })).toBe('dropped');
    await rebuild.insertDocument(2);
    await progressOf(rebuild.control).insertOne({ _id: '2/late/0', generation: 2 } as never);
    expect(await drop({ dryRun: true })).toBe('was-dropped');
    expect(await rebuild.countDocuments(2)).toBe(1);
    expect(await drop()).toBe('was-dropped');
    expect(await rebuild.countDocuments(2)).toBe(0);
    expect(await progressOf(rebuild.control).countDocuments({ generation: 2 })).toBe(0);
  });
});

test('a comparison of a loading build or of the active generation is refused', async () => {
  await rebuild.storeGenerations([generation(1, 'active'), generation(2, 'building')]);
  const compare = (number: number) => () => compareWithActive(rebuild.deps(), number, []);
  await expectRefused(compare(2), 'generation 2 is still loading');
  await expectRefused(compare(1), 'generation 1 is the active one');
});

test('a projector refuses a generation that is unknown, dropped, or of another projection version', async () => {
  await rebuild.storeGenerations([
    generation(1, 'active', { projectionVersion: 7 }),
    generation(2, 'dropped'),
  ]);
  const open = (number?: number) =>
    openStore(rebuild.mongo, { DATABASE_NAME: rebuild.name, GENERATION: number }, () => undefined).then(
      () => 'it was not refused',
      (error: unknown) => `${(error as Error).name}: ${(error as Error).message}`,
    );
  const before = await rebuild.controlDocuments();
  const [served, dropped, unknown] = await Promise.all([open(), open(2), open(7)]);
  expect(served).toMatch(
    /^StartRefused: generation 1 holds documents of projection version 7.* rebuild start/s,
  );
  expect(dropped).toMatch(/^StartRefused: generation 2 was dropped.*Unset GENERATION.*rebuild status/s);
  expect(unknown).toMatch(
    /^StartRefused: there is no generation 7; the generations are 1 and 2.*Unset GENERATION/s,
  );
  expect(await rebuild.controlDocuments()).toEqual(before);
});
