import kafkajs from 'kafkajs';
import type { HoldCause } from '../../../shared/control/hold-causes.ts';
import { createMetrics } from '../metrics.ts';
import { createFreshnessGauges } from './freshness.ts';

/** MongoDB's clock, and an allowance of 5 seconds. */
const nowMs = 1_000_000;
const secondsAgo = (seconds: number) => new Date(nowMs - seconds * 1_000);

const backlogged = {
  position: 3,
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

/** The gauges of a projector that applies partition 0 of a topic, after one run. */
function given(changes: State = {}) {
  const state = { ...backlogged, ...changes };
  const { position, end, completeTo, watermarkAge, heldBy, silentSeconds } = state;
  const { cause, unreachable, startedAt } = state;
  const metrics = createMetrics();
  const gauges = createFreshnessGauges({ metrics, allowanceMs: 5_000, startedAt });
  const ends = new Map(
    [0, 1].flatMap((partition) => (end === null ? [] : [[`t/${partition}`, { low: 0, end, stable: end }]])),
  );
  gauges.observe(0, {
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
  });
  const values = async (gauge: { get: () => Promise<{ values: { labels: object; value: number }[] }> }) =>
    (await gauge.get()).values;
  return {
    gauges,
    metrics,
    lagSeconds: async () => (await values(metrics.lagSeconds)).map(({ value }) => value),
    /** The causes with a value above 0. */
    held: async () =>
      Object.fromEntries(
        (await values(metrics.held)).flatMap(({ labels, value }) =>
          value > 0 ? [[(labels as { cause: string }).cause, value]] : [],
        ),
      ) as Partial<Record<HoldCause, number>>,
    ages: async () => (await values(metrics.staleness)).map(({ value }) => value),
  };
}

describe('the lag of a topic in seconds', () => {
  test.each<[string, State, number]>([
    ['is the time since the last instant up to which it is complete', { completeTo: secondsAgo(20) }, 20],
    ['is 0 at the end of the log', { position: 9 }, 0],
    ['is that of the generation if no instant is known, as after a restart', { completeTo: new Date(0) }, 95],
    [
      'counts from the registration of a new generation',
      { watermarkAge: 1e6, completeTo: new Date(0), startedAt: secondsAgo(30) },
      30,
    ],
    ['counts while the log end is unknown', { position: 9, end: null, completeTo: secondsAgo(20) }, 20],
    ['counts before the start offset is found', { position: -1 }, 95],
  ])('%s', async (_, state, seconds) => {
    expect(await given(state).lagSeconds()).toEqual([seconds]);
  });

  test('has no lag in records beside it before the start offset is found', async () => {
    const { metrics } = given({ position: -1 });
    expect((await metrics.position.get()).values.concat((await metrics.lag.get()).values)).toEqual([]);
  });
});

describe('the cause that holds the watermark', () => {
  test.each<[string, State, object]>([
    ['is that of its partition, with the time beyond the allowance', { cause: 'fan_out' }, { fan_out: 95 }],
    ['is the search for a start offset', { cause: 'starting' }, { starting: 95 }],
    ['is the log if its end is unknown', { end: null }, { unreadable: 95 }],
    ['is the log if a broker is away', { unreachable: [{ broker: 'b', error: null }] }, { unreadable: 95 }],
    ['is left to the projector that applies the partition', { heldBy: 1 }, {}],
    ['is that no projector applies it', { heldBy: 1, silentSeconds: 31 }, { unassigned: 95 }],
    ['is none within the allowance', { watermarkAge: 5 }, {}],
  ])('%s', async (_, state, held) => {
    expect(await given(state).held()).toEqual(held);
  });

  test.each([
    [
      'the log, while the brokers do not answer',
      new kafkajs.KafkaJSConnectionError('refused'),
      { unreadable: 155 },
    ],
    ['the progress, while MongoDB does not answer', new Error('connection timed out'), { unsaved: 155 }],
  ])('is %s; age and lag grow', async (_, error, expected) => {
    const { gauges, held, ages, metrics } = given({ position: 9 });
    expect(await ages()).toEqual([100]);
    gauges.observeFailure(60_000, error);
    expect(await held()).toEqual(expected);
    expect(await ages()).toEqual([160]);
    expect((await metrics.lagSeconds.get()).values).toEqual([{ labels: { topic: 't' }, value: 60 }]);
  });
});
