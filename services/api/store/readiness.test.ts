import { createLogger } from '../../../shared/runtime/logger.ts';
import { createMetrics } from '../metrics.ts';
import type { ReadSnapshot } from './read-snapshot.ts';
import { pollReadiness } from './readiness.ts';

const logger = createLogger('test', 'silent');
const polled = () => new Promise((resolve) => setImmediate(resolve));

let readiness: ReturnType<typeof pollReadiness>;
let metrics: ReturnType<typeof createMetrics>;
const ready = async () => (await metrics.ready.get()).values[0]?.value;

/** Polls a store that answers unless `isAway` is set. */
function start(isAway: boolean) {
  const state = { isAway, nowMs: 0 };
  const current = async () => {
    if (state.isAway) throw new Error('away');
    return {} as ReadSnapshot;
  };
  metrics = createMetrics();
  readiness = pollReadiness({ snapshots: { current }, metrics, logger, nowMs: () => state.nowMs });
  return { state };
}

describe('an API replica', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate'] }));
  afterEach(() => {
    readiness.stop();
    jest.useRealTimers();
  });

  test('a replica is ready only after the first answer of the store', async () => {
    const { state } = start(true);
    expect(readiness.reason()).toContain('not been reached');
    await polled();
    expect(readiness.reason()).toBe('away');
    expect(await ready()).toBe(0);
    state.isAway = false;
    await jest.advanceTimersByTimeAsync(1_000);
    expect(readiness.reason()).toBeNull();
    expect(await ready()).toBe(1);
  });

  test('a replica is not ready once it stops', async () => {
    start(false);
    await polled();
    expect(readiness.reason()).toBeNull();
    readiness.stop();
    expect(readiness.reason()).toBe('stopping');
    expect(await ready()).toBe(0);
  });

  test('a replica stays ready for 15 seconds while the store is away', async () => {
    const { state } = start(false);
    await polled();
    state.isAway = true;
    await jest.advanceTimersByTimeAsync(1_000);
    state.nowMs = 14_999;
    expect(readiness.reason()).toBeNull();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await ready()).toBe(1);
    state.nowMs = 15_000;
    expect(readiness.reason()).toBe('away');
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await ready()).toBe(0);
  });
});
