import { monitorWallClock } from './wall-clock.ts';

describe('a wall clock', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test.each([
    { changeMs: -3_600_000, change: 'back by 3600 s' },
    { changeMs: 6_000, change: 'forward by 6 s' },
  ])(
    'ends the projector if it is set $change, but not if it drifts in small steps',
    ({ changeMs, change }) => {
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
      step(changeMs);
      // The second change is not reported, because the projector is already ending.
      step(changeMs);
      expect(reasons).toEqual([`the clock of this host was set ${change}: start the projector again`]);
    },
  );
});
