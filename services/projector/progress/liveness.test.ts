import { createLiveness, type Liveness, type ObservedPartition } from './liveness.ts';

const msAt = (minutes: number) => minutes * 60_000;
const partition = (changes: Partial<ObservedPartition> = {}): ObservedPartition => ({
  key: 'tags/0',
  position: 10,
  end: 20,
  progressCount: 0,
  ...changes,
});

/** Observes once a minute, twenty times. Returns the result of each minute. */
function overMinutes(everyMinute: (liveness: Liveness, minute: number) => void): (string | null)[] {
  const liveness = createLiveness(0);
  return Array.from({ length: 20 }, (_, minute) => {
    liveness.observeCommit(msAt(minute));
    everyMinute(liveness, minute);
    return liveness.failure(msAt(minute));
  });
}
const alive = Array.from({ length: 20 }, () => null);

describe('a projector is alive', () => {
  test('while each partition moves, or has no records', () => {
    const observed = (minute: number) => [
      partition({ key: 'tags/0', position: minute, end: 1_000_000 + minute }),
      partition({ key: 'tags/1', progressCount: minute }),
      partition({ key: 'tags/2', position: 20 }),
    ];
    expect(overMinutes((liveness, minute) => liveness.observe(msAt(minute), observed(minute)))).toEqual(
      alive,
    );
  });

  test('while MongoDB or the brokers are unavailable, and some minutes longer', () => {
    const results = overMinutes((liveness, minute) =>
      minute < 16 ? liveness.observeUnavailable(msAt(minute)) : liveness.observe(msAt(minute), [partition()]),
    );
    expect(results).toEqual(alive);
  });

  test('while its partitions are not observed', () => {
    const liveness = createLiveness(0);
    liveness.observe(msAt(1), [partition()]);
    expect(liveness.failure(msAt(14))).toBeNull();
    // The next observation shows that the partition has not moved.
    liveness.observe(msAt(14), [partition()]);
    expect(liveness.failure(msAt(15))).toBe('tags/0 has records, but has not moved for 780 s');
  });

  test('again once its stuck partition moves or is reassigned', () => {
    const liveness = createLiveness(0);
    liveness.observe(0, [partition()]);
    liveness.observe(msAt(6), [partition()]);
    expect(liveness.failure(msAt(6))).not.toBeNull();
    liveness.observe(msAt(7), [partition({ position: 11 })]);
    expect(liveness.failure(msAt(7))).toBeNull();
    liveness.observe(msAt(13), []);
    expect(liveness.failure(msAt(13))).toBeNull();
  });
});

describe('a projector is stuck', () => {
  test('when one partition with records does not move', () => {
    const observed = (minute: number) => [
      partition({ end: 20 + minute }),
      partition({ key: 'tags/1', position: minute }),
    ];
    const results = overMinutes((liveness, minute) => liveness.observe(msAt(minute), observed(minute)));
    expect(results.slice(0, 6)).toEqual(alive.slice(0, 6));
    expect(results[6]).toBe('tags/0 has records, but has not moved for 360 s');
  });

  test('when no commit succeeds, although progress is saved', () => {
    const liveness = createLiveness(0);
    const observeUncommitted = (minute: number) => {
      liveness.observe(msAt(minute), []);
      return liveness.failure(msAt(minute));
    };
    const results = Array.from({ length: 17 }, (_, minute) => observeUncommitted(minute));
    expect(results.slice(0, 16)).toEqual(alive.slice(0, 16));
    expect(results[16]).toBe('no offset could be committed for 960 s');
    // The projector is alive again after a commit, or while the brokers are unavailable.
    liveness.observeCommit(msAt(17));
    expect(observeUncommitted(30)).toBeNull();
    liveness.observeUnavailable(msAt(33));
    expect(observeUncommitted(34)).toBeNull();
  });

  test('when the commit loop hangs', () => {
    const results = overMinutes((liveness, minute) => minute === 0 && liveness.observe(0, []));
    expect(results.slice(0, 16)).toEqual(alive.slice(0, 16));
    expect(results[16]).toBe('progress has been neither recorded nor refused for 960 s');
  });
});
