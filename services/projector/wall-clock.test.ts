import { monitorWallClock } from './wall-clock.ts';

describe('a wall clock', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it.each([
    [-3_600_000, 'back by 3600 s'],
    [6_000, 'forward by 6 s'],
  ])('that is set by %i ms ends the projector, unlike an adjustment in small steps', (ms, how) => {
    const reasons: string[] = [];
    let aheadMs = 0;
    monitorWallClock(
      ({ message }) => void reasons.push(message),
      () => performance.now() + aheadMs,
    );
    const step = (stepMs: number) => {
      aheadMs += stepMs;
      jest.advanceTimersByTime(1_000);
    };
    for (let second = 0; second < 60; second += 1) step(-500);
    expect(reasons).toEqual([]);
    step(ms);
    step(ms);
    expect(reasons).toEqual([`the clock of this host was set ${how}: start the projector again`]);
  });
});
