import { createLiveness, type Liveness, type Watched } from './liveness.ts';

const at = (minutes: number) => minutes * 60_000;
const partition = (changes: Partial<Watched> = {}): Watched => ({
  key: 'tags/0',
  position: 10,
  end: 20,
  progressCount: 0,
  ...changes,
});

/** Observes once a minute, twenty times over; gives the verdict of each. */
function watch(each: (liveness: Liveness, minute: number) => void): (string | null)[] {
  const liveness = createLiveness(0);
  return Array.from({ length: 20 }, (_, minute) => {
    each(liveness, minute);
    return liveness.verdict(at(minute));
  });
}
const alive = Array.from({ length: 20 }, () => null);

describe('a projector is alive', () => {
  test('while it catches up, however far behind', () => {
    const verdicts = watch((liveness, minute) =>
      liveness.observe(at(minute), [partition({ position: minute, end: 1_000_000 + minute })]),
    );
    expect(verdicts).toEqual(alive);
  });

  test('in a long fan-out, which moves a step but not the position', () => {
    const verdicts = watch((liveness, minute) =>
      liveness.observe(at(minute), [partition({ progressCount: minute })]),
    );
    expect(verdicts).toEqual(alive);
  });

  test('while the store or the brokers are away, and for a while after', () => {
    const verdicts = watch((liveness, minute) =>
      minute < 16 ? liveness.observeAway(at(minute)) : liveness.observe(at(minute), [partition()]),
    );
    expect(verdicts).toEqual(alive);
  });

  test('with no partition assigned, and with nothing to do', () => {
    expect(watch((liveness, minute) => liveness.observe(at(minute), []))).toEqual(alive);
    const idle = [partition({ position: 20 })];
    expect(watch((liveness, minute) => liveness.observe(at(minute), idle))).toEqual(alive);
  });

  test('again when its partition is given to another, or moves on', () => {
    const liveness = createLiveness(0);
    liveness.observe(0, [partition()]);
    liveness.observe(at(6), [partition()]);
    expect(liveness.verdict(at(6))).not.toBeNull();
    liveness.observe(at(7), [partition({ position: 11 })]);
    expect(liveness.verdict(at(7))).toBeNull();
    liveness.observe(at(13), []);
    expect(liveness.verdict(at(13))).toBeNull();
  });
});

describe('a projector is stuck', () => {
  test('when a step does not move, though others do', () => {
    const verdicts = watch((liveness, minute) =>
      liveness.observe(at(minute), [partition(), partition({ key: 'tags/1', position: minute })]),
    );
    expect(verdicts.slice(0, 6)).toEqual(alive.slice(0, 6));
    expect(verdicts[6]).toBe('tags/0 has records, but has not moved for 360 s');
  });

  test('when there are records and none of them comes', () => {
    const verdicts = watch((liveness, minute) =>
      liveness.observe(at(minute), [partition({ end: 20 + minute })]),
    );
    expect(verdicts[6]).toBe('tags/0 has records, but has not moved for 360 s');
  });

  test('when progress is neither recorded nor refused any more', () => {
    const verdicts = watch((liveness, minute) => minute === 0 && liveness.observe(0, []));
    expect(verdicts.slice(0, 16)).toEqual(alive.slice(0, 16));
    expect(verdicts[16]).toBe('progress has been neither recorded nor refused for 960 s');
  });
});
