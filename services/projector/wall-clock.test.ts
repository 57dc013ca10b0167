import { watchWallClock } from './wall-clock.ts';

describe('a wall clock', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  function given() {
    const reasons: string[] = [];
    let aheadMs = 0;
    watchWallClock(
      ({ message }) => void reasons.push(message),
      () => performance.now() + aheadMs,
    );
    const step = (ms: number) => {
      aheadMs += ms;
      jest.advanceTimersByTime(1_000);
    };
    return { reasons, step };
  }

  it.each([
    [-3_600_000, 'back by 3600 s'],
    [6_000, 'forward by 6 s'],
  ])('that is set (%i ms) ends the projector, once', (ms, how) => {
    const { reasons, step } = given();
    step(0);
    expect(reasons).toEqual([]);
    step(ms);
    step(ms);
    expect(reasons).toEqual([`the clock of this host was set ${how}: start the projector again`]);
  });

  it('may be adjusted in small steps for as long as that takes', () => {
    const { reasons, step } = given();
    for (let second = 0; second < 60; second += 1) step(-500);
    expect(reasons).toEqual([]);
  });
});
