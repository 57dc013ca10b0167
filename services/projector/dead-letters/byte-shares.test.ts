import { createByteShares, filledPart, shareOf } from './byte-shares.ts';

function createTestShares(shareBytes = 80) {
  let clock = 0;
  const measured: number[] = [];
  const stored = new Map<string, number>();
  const measure = async () => {
    measured.push(clock);
    return new Map(stored);
  };
  const shares = createByteShares(measure, shareBytes, () => clock);
  return {
    shares,
    stored,
    measured,
    wait: (ms: number) => {
      clock += ms;
    },
  };
}

test('each topic has the same share, even if another topic exceeds its share', async () => {
  expect(shareOf(11, Array.from({ length: 11 }, String))).toBe(1024 * 1024);
  const { shares, stored } = createTestShares();
  stored.set('flooded', 90);
  expect([await shares.left('flooded'), await shares.left('other')]).toEqual([-10, 80]);
  expect(await shares.filled()).toBe(90 / 80);
  expect(filledPart(new Map(), 80)).toBe(0);
});

test('the stored bytes are measured again after five seconds or an eighth of a share', async () => {
  const { shares, measured, wait } = createTestShares();
  await shares.left('a');
  shares.add('a', 10);
  expect(measured).toEqual([0]);
  wait(1);
  // The store does not hold them: the measurement counts.
  expect(await shares.left('a')).toBe(80);
  shares.add('a', 7);
  expect(await shares.left('a')).toBe(73);
  wait(5_000);
  expect(await shares.left('a')).toBe(80);
  expect(measured).toEqual([0, 1, 5_001]);
});
