import kafkajs from 'kafkajs';
import { pino } from 'pino';
import type { HoldCause } from '../../../shared/control/hold-causes.ts';
import { createMetrics } from '../metrics.ts';
import { createFreshnessGauges } from './freshness.ts';

/** MongoDB's clock, and an allowance of 5 seconds. */
const nowMs = 1_000_000;
const secondsAgo = (seconds: number) => new Date(nowMs - seconds * 1_000);

const backlogged = {
  position: 3 as number | null,
  end: 9 as number | null,
  completeTo: secondsAgo(95),
  watermarkAge: 100,
  heldBy: 0,
  silentSeconds: 1,
  cause: 'backlog' as HoldCause,
  unreachable: [] as { broker: string; error: unknown }[],
  startedAt: new Date(0),
};
type State = Partial<typeof backlogged>;

/** A run of a projector that applies partition 0 of a topic. */
function runOf(changes: State) {
  const state = { ...backlogged, ...changes };
  const { position, end, completeTo, watermarkAge, heldBy, silentSeconds, cause, unreachable } = state;
  const ends = new Map(
    [0, 1].flatMap((partition) => (end === null ? [] : [[`t/${partition}`, { low: 0, end, stable: end }]])),
  );
  return {
    asOf: new Date(nowMs),
    log: { partitions: ['t/0', 't/1'], ends, leaderEpochs: new Map(), topicIds: new Map(), unreachable },
    snapshot: [
      {
        topic: 't',
        partition: 0,
        position,
        progressCount: 0,
        fanOutWaiting: 7,
        leaderEpoch: -1,
        topicId: null,
        cause,
      },
    ],
    completeToMs: new Map([['t/0', completeTo.getTime()]]),
    watermark: secondsAgo(watermarkAge),
    heldBy: {
      topic: 't',
      partition: heldBy,
      completeTo: secondsAgo(watermarkAge),
      updatedAt: secondsAgo(silentSeconds),
    },
  };
}

/** The gauges of a projector that applies partition 0 of a topic, after one run. */
function gaugesAfterRun(changes: State = {}) {
  const metrics = createMetrics();
  const lines: object[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as object) });
  const { startedAt } = { ...backlogged, ...changes };
  const gauges = createFreshnessGauges({ metrics, allowanceMs: 5_000, startedAt, logger });
  /** One run, at a time of the monotonic clock. */
  const observe = (atMs: number, more: State = {}) => gauges.observe(atMs, runOf({ ...changes, ...more }));
  observe(0);
  const values = async (gauge: { get: () => Promise<{ values: { labels: object; value: number }[] }> }) =>
    (await gauge.get()).values;
  return {
    gauges,
    metrics,
    lines,
    observe,
    lagSeconds: async () => (await values(metrics.lagSeconds)).map(({ value }) => value),
    /** The seconds of each cause with a value above 0. */
    heldSeconds: async () =>
      Object.fromEntries(
        (await values(metrics.held)).flatMap(({ labels, value }) =>
          value > 0 ? [[(labels as { cause: string }).cause, value]] : [],
        ),
      ) as Partial<Record<HoldCause, number>>,
    dataAges: async () => (await values(metrics.staleness)).map(({ value }) => value),
  };
}

describe('the lag of a topic in seconds', () => {
  test.each<[string, State, number]>([
    ['is the time since the last instant up to which it is complete', { completeTo: secondsAgo(20) }, 20],
    ['is 0 at the end of the log', { position: 9 }, 0],
    [
      'is the lag of the generation if no instant is known, as after a restart',
      { completeTo: new Date(0) },
      95,
    ],
    [
      'counts from the start of a new generation',
      { watermarkAge: 1e6, completeTo: new Date(0), startedAt: secondsAgo(30) },
      30,
    ],
    ['counts while the log end is unknown', { position: 9, end: null, completeTo: secondsAgo(20) }, 20],
    ['counts before the start offset is found', { position: null }, 95],
  ])('%s', async (_, state, seconds) => {
    expect(await gaugesAfterRun(state).lagSeconds()).toEqual([seconds]);
  });
});

test('no position and no lag in records are exported before the start offset is found', async () => {
  const { metrics } = gaugesAfterRun({ position: null });
  expect((await metrics.position.get()).values).toEqual([]);
  expect((await metrics.lag.get()).values).toEqual([]);
});

describe('the cause that holds the watermark', () => {
  test.each<[string, State, object]>([
    [
      'is the cause of its partition, with the seconds beyond the allowance',
      { cause: 'fan_out' },
      { fan_out: 95 },
    ],
    ['is `starting` before the start offset is found', { cause: 'starting' }, { starting: 95 }],
    ['is `unreadable` if the end of the log is unknown', { end: null }, { unreadable: 95 }],
    [
      'is `unreadable` if a broker is unreachable',
      { unreachable: [{ broker: 'b', error: null }] },
      { unreadable: 95 },
    ],
    ['is left to another projector that applies the partition', { heldBy: 1 }, {}],
    [
      'is `unassigned` if no projector applies the partition',
      { heldBy: 1, silentSeconds: 31 },
      { unassigned: 95 },
    ],
    ['is absent within the allowance', { watermarkAge: 5 }, {}],
  ])('%s', async (_, state, held) => {
    expect(await gaugesAfterRun(state).heldSeconds()).toEqual(held);
  });

  test.each([
    [
      '`unreadable` while the brokers do not answer',
      new kafkajs.KafkaJSConnectionError('refused'),
      { unreadable: 155 },
    ],
    ['`unsaved` while MongoDB does not answer', new Error('connection timed out'), { unsaved: 155 }],
  ])('is %s; data age and lag grow', async (_, error, expected) => {
    const { gauges, heldSeconds, dataAges, metrics } = gaugesAfterRun({ position: 9 });
    expect(await dataAges()).toEqual([100]);
    gauges.observeFailure(60_000, error);
    expect(await heldSeconds()).toEqual(expected);
    expect(await dataAges()).toEqual([160]);
    expect((await metrics.lagSeconds.get()).values).toEqual([{ labels: { topic: 't' }, value: 60 }]);
  });
});

describe('a hold of the watermark', () => {
  const lineOf = (cause: HoldCause) => ({
    topic: 't',
    partition: 0,
    position: 3,
    cause,
    msg: 'Data-As-Of stands still',
  });
  /** The lines of two minutes, with a run each second. */
  const linesOf = (stateAt: (second: number) => State) => {
    const { observe, lines } = gaugesAfterRun(stateAt(0));
    for (let second = 1; second <= 120; second += 1) observe(second * 1_000, stateAt(second));
    return lines;
  };

  test.each<[HoldCause, State]>([
    ['unreadable', { end: null }],
    ['undelivered', { cause: 'undelivered' }],
    ['new_leader', { cause: 'new_leader' }],
    ['open_transaction', { cause: 'open_transaction' }],
  ])('for half a minute is logged once as %s', (cause, state) => {
    expect(linesOf((second) => ({ ...state, position: second < 30 ? 2 : 3 }))).toMatchObject([lineOf(cause)]);
  });

  test('by a broker that does not answer is logged once, although a partition of another broker moves', () => {
    const lines = linesOf((second) => ({ unreachable: [{ broker: 'b', error: null }], position: second }));
    expect(lines).toMatchObject([{ cause: 'unreadable', unreachable: [{ broker: 'b' }] }]);
  });

  test.each<[string, (second: number) => State]>([
    ['shorter wait', (second) => ({ cause: second % 30 === 0 ? 'backlog' : 'undelivered' })],
    ['partition that moves', (second) => ({ cause: 'undelivered', position: second })],
    ['watermark within the allowance', () => ({ cause: 'undelivered', watermarkAge: 5 })],
    ['cause within the projectors', () => ({ cause: 'fan_out' })],
  ])('is not logged for a %s', (_, stateAt) => {
    expect(linesOf(stateAt)).toEqual([]);
  });

  test('is logged again after the watermark has advanced', () => {
    const unreadable = { end: null };
    const lines = linesOf((second) => (second === 60 ? { ...unreadable, watermarkAge: 5 } : unreadable));
    expect(lines).toHaveLength(2);
  });
});
