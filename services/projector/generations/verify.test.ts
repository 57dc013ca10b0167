import type { Kind } from '../../../shared/documents/document.ts';
import { verify, type Comparison, type Pair } from './verify.ts';

const now = new Date('2026-01-01T00:00:00Z');
const tag = (number: number, name: string) => ({
  ...{ _id: `tag_${number}`, orgId: 'org_1', state: { id: `tag_${number}`, name }, joined: {} },
});
const numbers = [0, 1, 2, 3, 4];
const unequal = numbers.map((number): Pair => ({ expected: tag(number, 'old'), actual: tag(number, 'new') }));

/** Five tags that differ at first sight, and as `again` says afterwards. */
const comparisonOf = (again: Pair[]): Comparison => ({
  scan: async function* (kind: Kind) {
    yield kind === 'tag' ? unequal : [];
  },
  again: async (_, ids) => again.filter(({ expected }) => expected && ids.includes(expected._id)),
  watermarks: async () => [new Date(now.getTime() + 1)],
});
const verified = (again: Pair[], options: object = {}) =>
  verify(comparisonOf(again), {
    expectations: [],
    now: async () => now,
    report: () => undefined,
    ...options,
  });
const settled = numbers.map((number): Pair => ({ expected: tag(number, 'new'), actual: tag(number, 'new') }));

describe('a verification', () => {
  it('finds nothing where every difference has settled', async () => {
    expect(await verified(settled)).toMatchObject({ compared: 5, differences: 0, isCutShort: false });
  });

  it('counts what it could not look at again, so that it never passes by forgetting', async () => {
    expect(await verified(settled, { rememberedMax: 2 })).toMatchObject({ differences: 3, isCutShort: true });
    expect(await verified(unequal, { rememberedMax: 2 })).toMatchObject({ differences: 5, isCutShort: true });
  });

  it('need not remember what is intended, of which there may be any number', async () => {
    const expectations = [{ kind: 'tag' as const, field: 'state.name' }];
    const intended = { differences: 0, expected: 5, isCutShort: false };
    expect(await verified(unequal, { rememberedMax: 2, expectations })).toMatchObject(intended);
  });
});
