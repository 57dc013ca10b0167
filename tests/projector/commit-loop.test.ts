import { randomBytes } from 'node:crypto';
import { MongoClient, type CommandStartedEvent, type Db } from 'mongodb';
import { pino } from 'pino';
import { progressOf, watermark } from '../../shared/store/generations.ts';
import type { RunningConsumer } from '../../services/projector/consumer/consumer.ts';
import { startCommitLoop, type CommitLoop } from '../../services/projector/consumer/commit-loop.ts';
import type { LogClient } from '../../services/projector/kafka/log-client.ts';
import type { Snapshot } from '../../services/projector/consumer/progress.ts';
import { ensureControlIndexes } from '../../services/projector/runtime/control-indexes.ts';
import { createLiveness } from '../../services/projector/runtime/liveness.ts';
import { createMetrics } from '../../services/projector/runtime/metrics.ts';
import { anyOrder } from '../support/order.ts';

const generation = 1;
const allowanceMs = 1_000;
/** One turn alone, when a test says so. */
const never = 3_600_000;

describe('a turn of recording and committing', () => {
  const mongo = new MongoClient(process.env.MONGODB_URL ?? '', { monitorCommands: true });
  let control: Db;
  let commitLoop: CommitLoop;
  let nowMs: number;
  let ends: Map<string, number>;
  let partitions: Snapshot[];
  let isCaughtUp: boolean;
  /** What happens while the log's ends are read, behind what is looked at, and where it is committed. */
  let whileEndsAreRead: () => void;
  let onSnapshot: () => void;
  let onCommit: (snapshot: Snapshot[]) => Promise<void>;

  beforeEach(async () => {
    control = mongo.db(`t${randomBytes(5).toString('hex')}`);
    await ensureControlIndexes(control);
    nowMs = 50_000;
    ends = new Map([['t/0', 0]]);
    partitions = [];
    isCaughtUp = true;
    whileEndsAreRead = () => undefined;
    onSnapshot = () => undefined;
    onCommit = async () => undefined;
    const log: LogClient = {
      connect: async () => undefined,
      disconnect: async () => undefined,
      readStarts: async () => new Map(),
      readTopicIds: async () => new Map(),
      readEnds: async () => {
        const read = new Map(ends);
        whileEndsAreRead();
        return read;
      },
    };
    const consuming: RunningConsumer = {
      snapshot: () => {
        const taken = partitions.map((one) => ({ ...one }));
        onSnapshot();
        return taken;
      },
      isCaughtUp: () => isCaughtUp,
      withoutStartOffset: () => [],
      detectGaps: () => undefined,
      commit: (snapshot) => onCommit(snapshot),
      stop: async () => undefined,
    };
    const deps = { control, log, generation, allowanceMs, topics: ['t'], now: () => new Date(nowMs) };
    const observers = {
      metrics: createMetrics(),
      liveness: createLiveness(0),
      logger: pino({ level: 'silent' }),
    };
    commitLoop = startCommitLoop({ ...deps, ...observers, ...anyOrder() }, consuming, never);
    await commitLoop.flush();
  });
  afterEach(async () => {
    await commitLoop.stop();
    await control.dropDatabase();
  });
  afterAll(() => mongo.close());

  const at = (partition: number, position: number): Snapshot => ({
    ...{ topic: 't', partition, position, progressCount: 0 },
    ...{ appliedToMs: null, waitingSinceMs: null },
  });
  const recorded = async (partition = 0) => {
    const found = await progressOf(control).findOne({ topic: 't', partition });
    return { position: found?.position, completeToMs: found?.completeTo.getTime() };
  };

  test('promises nothing that was published while the ends of the log were read', async () => {
    // given a partition that is caught up with the end that is read
    ends.set('t/0', 3);
    partitions = [at(0, 3)];
    // when another record is published before the answer is here
    whileEndsAreRead = () => (nowMs += 10_000);
    await commitLoop.flush();
    // then what is promised ends before the question
    expect(await recorded()).toEqual({ position: 3, completeToMs: 50_000 - allowanceMs });
  });

  test('commits what is recorded by then, and nothing that was applied since', async () => {
    ends.set('t/0', 9);
    partitions = [at(0, 3)];
    const commits: [number | undefined, number | undefined][] = [];
    // Work goes on meanwhile.
    onSnapshot = () => (partitions = [at(0, 7)]);
    onCommit = async (snapshot) => void commits.push([snapshot[0]?.position, (await recorded()).position]);
    await commitLoop.flush();
    expect(commits).toEqual([[3, 3]]);
  });

  test('commits nothing where progress could not be recorded', async () => {
    let commits = 0;
    onCommit = async () => void (commits += 1);
    // given a store that refuses one of two
    await control.collection('progress').createIndex({ position: 1 }, { unique: true });
    ends.set('t/0', 3).set('t/1', 3);
    partitions = [at(0, 3), at(1, 3)];
    await expect(commitLoop.flush()).rejects.toThrow();
    expect(commits).toBe(0);
  });

  test('raises the watermark to the partition that is least complete', async () => {
    ends = new Map([
      ['t/0', 3],
      ['t/1', 9],
    ]);
    partitions = [at(0, 3), { ...at(1, 4), appliedToMs: 20_000, waitingSinceMs: 30_000 }];
    await commitLoop.flush();
    expect((await watermark(control, generation))?.getTime()).toBe(20_000 - allowanceMs);
    expect(commitLoop.watermarkMs()).toBe(20_000 - allowanceMs);
  });

  test('comes at once where a backlog ends', async () => {
    let commits = 0;
    const committed = new Promise<void>((resolve) => {
      onCommit = async () => {
        commits += 1;
        resolve();
      };
    });
    // given so many records that they are a backlog, and more to come
    isCaughtUp = false;
    commitLoop.onApplied(2_000);
    expect(commits).toBe(0);
    // when the last of them is applied
    isCaughtUp = true;
    commitLoop.onApplied(1);
    // then nobody waits for the next turn
    await committed;
  });

  test('does not come for every few records', async () => {
    let commits = 0;
    onCommit = async () => void (commits += 1);
    for (let record = 0; record < 500; record += 1) commitLoop.onApplied(1);
    await commitLoop.flush();
    expect(commits).toBe(1);
  });

  describe('where nothing comes', () => {
    const count = 33;
    beforeEach(async () => {
      ends = new Map(Array.from({ length: count }, (_, partition) => [`t/${partition}`, 5]));
      partitions = Array.from({ length: count }, (_, partition) => at(partition, 5));
      await commitLoop.flush();
    });

    test('costs the store the same few commands for any number of partitions', async () => {
      const commands: string[] = [];
      const note = ({ commandName }: CommandStartedEvent) => commands.push(commandName);
      mongo.on('commandStarted', note);
      nowMs = 60_000;
      await commitLoop.flush();
      mongo.off('commandStarted', note);
      expect(commands).toEqual(['update', 'find', 'findAndModify']);
      // and what is complete moves on all the same
      const open = { completeTo: { $ne: new Date(60_000 - allowanceMs) } };
      expect(await progressOf(control).countDocuments(open)).toBe(0);
      expect(commitLoop.watermarkMs()).toBe(60_000 - allowanceMs);
    });

    test('records a partition anew that was removed', async () => {
      await progressOf(control).deleteOne({ partition: 7 });
      await commitLoop.flush();
      nowMs = 60_000;
      await commitLoop.flush();
      expect(await recorded(7)).toEqual({ position: 5, completeToMs: 60_000 - allowanceMs });
    });

    test('records one that moves, and takes nothing back of one that is behind since', async () => {
      nowMs = 60_000;
      ends.set('t/1', 6).set('t/2', 6);
      partitions[1] = at(1, 6);
      await commitLoop.flush();
      expect(await recorded(1)).toEqual({ position: 6, completeToMs: 60_000 - allowanceMs });
      expect(await recorded(2)).toEqual({ position: 5, completeToMs: 50_000 - allowanceMs });
    });
  });
});
