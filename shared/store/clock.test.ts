import { createStoreClock } from './clock.ts';

describe('the clock of the store', () => {
  test('is its time at the last reading, and the monotonic time since', async () => {
    const store = { ms: 10_000 };
    const monotonic = { ms: 5 };
    const clock = createStoreClock(
      async () => new Date(store.ms),
      () => monotonic.ms,
    );
    expect(clock.now).toThrow('not read yet');
    expect(await clock.nowOrRead()).toEqual(new Date(10_000));
    expect(clock.now()).toEqual(new Date(10_000));
    monotonic.ms += 700;
    expect(clock.now()).toEqual(new Date(10_700));
    expect(await clock.nowOrRead()).toEqual(new Date(10_700));
    // and a later reading counts, also one that is earlier than expected
    store.ms = 10_600;
    expect(await clock.read()).toEqual(new Date(10_600));
    monotonic.ms += 1;
    expect(clock.now()).toEqual(new Date(10_601));
  });
});
