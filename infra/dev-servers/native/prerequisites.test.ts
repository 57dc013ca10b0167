import { javaVersion } from './prerequisites.ts';

describe("Java's version", () => {
  test.each([
    ['openjdk version "17.0.15" 2025-04-15', 17],
    ['openjdk version "21" 2023-09-19', 21],
    ['java version "1.8.0_392"', 1],
    ['sh: java: not found', 0],
  ])('%s is %d', (output, expected) => {
    expect(javaVersion(output)).toBe(expected);
  });
});
