import type { Kind } from '../../../shared/documents/resources.ts';
import { compareDocuments, type PairSource } from './compare.ts';
import { differencesOf, type DocumentPair } from './differences.ts';

const now = new Date('2026-01-01T00:00:00Z');
const tag = (number: number, name: string) => ({
  _id: `tag_${number}`,
  orgId: 'org_1',
  version: 1,
  state: { id: `tag_${number}`, name },
  joined: {},
});
const numbers = [0, 1, 2, 3, 4];
const unequal = numbers.map((number): DocumentPair => ({
  expected: tag(number, 'old'),
  actual: tag(number, 'new'),
}));

/** Five tags that differ in the first comparison, and by `again` afterwards. */
const comparisonOf = (again: DocumentPair[]): PairSource => ({
  asPresented: async (_, pairs) => pairs,
  scan: async function* (kind: Kind) {
    yield kind === 'tag' ? unequal : [];
  },
  reread: async (_, ids) => again.filter(({ expected }) => expected && ids.includes(expected._id)),
  watermarks: async () => [new Date(now.getTime() + 1)],
});
const comparing = (source: PairSource, options: object = {}) =>
  compareDocuments(source, { expectations: [], now: async () => now, report: () => undefined, ...options });
const compared = (again: DocumentPair[], options?: object) => comparing(comparisonOf(again), options);
const settled = numbers.map((number): DocumentPair => ({
  expected: tag(number, 'new'),
  actual: tag(number, 'new'),
}));

describe('a comparison', () => {
  test('counts differing documents beyond the number that it remembers', async () => {
    expect(await compared(settled)).toMatchObject({ compared: 5, differences: 0, isCutShort: false });
    expect(await compared(settled, { recheckAtMost: 2 })).toMatchObject({ differences: 3, isCutShort: true });
    expect(await compared(unequal, { recheckAtMost: 2 })).toMatchObject({ differences: 5, isCutShort: true });
  });

  test('compares every differing document again', async () => {
    const ids = Array.from({ length: 201 }, (_, number) => number);
    const pair = (number: number, name: string): DocumentPair => ({
      expected: tag(number, 'old'),
      actual: tag(number, name),
    });
    const many: PairSource = {
      ...comparisonOf(ids.map((number) => pair(number, number === 200 ? 'new' : 'old'))),
      scan: async function* (kind: Kind) {
        yield kind === 'tag' ? ids.map((number) => pair(number, 'new')) : [];
      },
    };
    expect(await comparing(many)).toMatchObject({ differing: 1, differences: 1 });
  });

  test('remembers no intended differences', async () => {
    const expectations = [{ kind: 'tag' as const, field: 'state.name' }];
    const intended = { differences: 0, expected: 5, isCutShort: false };
    expect(await compared(unequal, { recheckAtMost: 2, expectations })).toMatchObject(intended);
  });

  test('compares a document three times if it changes each time', async () => {
    let round = 0;
    const changing: PairSource = {
      ...comparisonOf([]),
      reread: async () => {
        round += 1;
        return [{ expected: tag(0, 'old'), actual: tag(0, round < 3 ? 'new' : 'old') }];
      },
    };
    expect(await comparing(changing)).toMatchObject({ differing: 0, differences: 0 });
    expect(round).toBe(3);
  });

  test('counts the documents that differ, and their differences', async () => {
    const two = { ...tag(0, 'new'), orgId: 'org_2' };
    const differing = [{ expected: tag(0, 'old'), actual: two }];
    expect(await compared(differing)).toMatchObject({ differing: 1, differences: 2 });
  });

  test('waits at most 15 seconds for a watermark that does not move', async () => {
    let nowMs = 0;
    let polls = 0;
    /** Ten seconds pass at each poll; the watermark moves until the poll `until`. */
    const lines: string[] = [];
    const options = { report: (line: string) => void lines.push(line), nowMs: () => nowMs };
    const moving = (until: number, again: DocumentPair[]): PairSource => ({
      ...comparisonOf(again),
      watermarks: async () => {
        nowMs += 10_000;
        polls += 1;
        return [new Date(now.getTime() - 3_000 + 1_000 * Math.min(polls, until))];
      },
    });
    await comparing(moving(4, settled), options);
    expect(polls).toBe(4);
    expect(lines.join()).not.toContain('lag');
    polls = 0;
    // Then the documents that differ are read for the last time.
    await comparing(moving(0, unequal), options);
    expect(polls).toBe(3);
    expect(lines.at(-1)).toContain('may be due to lag');
  });
});

const conversation = (changes: object) => ({
  _id: 'conv_1',
  orgId: 'org_1',
  version: 3,
  joined: { channel: null },
  ...changes,
});
const state = { id: 'conv_1', updatedAt: now };

test.each([
  { name: 'an additional conversation', expected: null, actual: conversation({ state }), classes: ['extra'] },
  {
    name: 'one that waits for its channel: it is not served',
    expected: null,
    actual: conversation({ state, pending: true }),
    classes: [],
  },
  {
    name: 'a tombstone document of a later version',
    expected: conversation({ version: 2 }),
    actual: conversation({}),
    classes: ['version'],
  },
  {
    name: 'one where the active generation knows no version',
    expected: conversation({ version: 0 }),
    actual: conversation({}),
    classes: [],
  },
])('compares $name', ({ expected, actual, classes }) => {
  expect(
    differencesOf('conversation', { expected, actual }, now).map((difference) => difference.class),
  ).toEqual(classes);
});
