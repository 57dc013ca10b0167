import type { ReadSnapshot } from '../store/read-snapshot.ts';
import type { Caller } from '../http/context.ts';
import { batchLookUps } from './batch-lookups.ts';

const snapshot = (generation: number) => ({ generation }) as ReadSnapshot;
const key: Caller = { keyId: 'key_1', orgId: 'org_a' };

/** A store that answers on demand, and knows only the token `valid`. */
function createLookups() {
  const queries: { generation: number; hashes: string[]; answer: () => void; fail: () => void }[] = [];
  const pauses: (() => void)[] = [];
  const find = batchLookUps({
    nowMs: () => queries.length,
    lookUp: ({ generation }, hashes) =>
      new Promise((resolve, reject) => {
        const answer = () => resolve(new Map(hashes.includes('valid') ? [['valid', key]] : []));
        queries.push({ generation, hashes, answer, fail: () => reject(new Error('away')) });
      }),
    pause: () => new Promise<void>((resolve) => pauses.push(resolve)),
  });
  return { queries, pauses, find };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));
const guesses = (count: number) => Array.from({ length: count }, (_, index) => `guess ${index}`);

describe('batched lookups', () => {
  it('start at once; tokens that arrive meanwhile share the next query, at most 256', async () => {
    const { queries, pauses, find } = createLookups();
    const first = find(snapshot(1), 'valid');
    expect(queries).toHaveLength(1);
    const rest = [...guesses(300), 'valid', 'valid'].map((hash) => find(snapshot(1), hash));
    queries[0]?.answer();
    expect((await first).caller).toBe(key);
    await settled();
    expect(queries[1]?.hashes).toEqual(guesses(256));
    queries[1]?.answer();
    await settled();
    pauses[0]?.();
    await settled();
    expect(queries[2]?.hashes).toEqual([...guesses(300).slice(256), 'valid']);
    queries[2]?.answer();
    const found = (await Promise.all(rest)).map(({ caller }) => caller);
    expect(found).toEqual([...guesses(300).map(() => null), key, key]);
  });

  it('pause after a query with an unknown token, and after no other', async () => {
    const { queries, pauses, find } = createLookups();
    void find(snapshot(1), 'valid');
    void find(snapshot(1), 'guess');
    queries[0]?.answer();
    await settled();
    expect([queries.length, pauses.length]).toEqual([2, 0]);
    void find(snapshot(1), 'valid');
    queries[1]?.answer();
    await settled();
    expect([queries.length, pauses.length]).toEqual([2, 1]);
    pauses[0]?.();
    await settled();
    expect(queries).toHaveLength(3);
  });

  it('query each generation separately', async () => {
    const { queries, find } = createLookups();
    void find(snapshot(1), 'valid');
    for (const generation of [2, 1, 2]) void find(snapshot(generation), 'valid');
    queries[0]?.answer();
    await settled();
    queries[1]?.answer();
    await settled();
    expect(queries.map(({ generation }) => generation)).toEqual([1, 2, 1]);
  });

  it('reject all waiting lookups if the store fails, and query again for later ones', async () => {
    const { queries, find } = createLookups();
    const waiting = [find(snapshot(1), 'valid'), find(snapshot(1), 'valid'), find(snapshot(2), 'guess')];
    queries[0]?.fail();
    for (const one of waiting) await expect(one).rejects.toThrow('away');
    expect(queries).toHaveLength(1);
    const later = find(snapshot(1), 'valid');
    queries[1]?.answer();
    expect(await later).toEqual({ caller: key, queriedMs: 1 });
  });
});
