import { describeOffsets, packOffsets, unpackOffsets } from './offsets.ts';

test.each([[[]], [[40]], [[40, 41, 47, 48]], [[40, 10_039]]])(
  'offsets %j come back as they were packed',
  (offsets) => {
    expect([...unpackOffsets(packOffsets(offsets, 40), 40)]).toEqual(offsets);
  },
);

test('10,000 offsets take 1,250 bytes, whatever they are', () => {
  const all = Array.from({ length: 10_000 }, (_, index) => 20_000 + index);
  expect(packOffsets(all, 20_000).length()).toBe(1_250);
  expect(unpackOffsets(packOffsets(all, 20_000), 20_000).size).toBe(10_000);
});

test.each<[number[], string]>([
  [[], ''],
  [[3], '3'],
  [[3, 5, 6, 7], '3, 5-7'],
  [[1, 3, 5, 6, 7, 8], '1, 3 and 4 more'],
])('offsets %j are described as "%s"', (offsets, text) => {
  expect(describeOffsets(offsets, 2)).toBe(text);
});
