import { canFetchToolchains } from './go.ts';

test.each([
  ['go1.26.8', true],
  ['go1.21.0', true],
  ['go1.19.8', false],
  ['go2.0', true],
  ['', false],
])('%s can build with a newer toolchain: %s', (version, expected) => {
  expect(canFetchToolchains(version)).toBe(expected);
});
