import type { Kind } from '../../../shared/documents/resources.ts';
import { emptyData, memoryStore } from '../../../tests/simulation/memory-store.ts';
import {
  applyChanges,
  applyRecords,
  changeOf,
  deletionOf,
  engineDeps,
  recordOf,
} from '../../../tests/support/engine.ts';
import { created } from '../../../tests/support/entities.ts';
import { applyChanges as applyPhaseOne, parseChunk } from '../apply/phases.ts';
import type { UpdateDeps } from './fan-out.ts';
import type { Stall } from './rounds.ts';
import type { Store, WriteResult } from './store.ts';

const tag = created('tag', 'tag_1');
const settled: WriteResult = { conflicted: new Map(), refused: new Map() };

/** A store in memory whose writes end by `outcome`, by their number from 1 on; null: as the store does. */
function createTestStore(
  outcome: (write: number) => WriteResult | null,
  overrides: Partial<UpdateDeps> = {},
) {
  const data = emptyData();
  const memory = memoryStore(data);
  const pauses: number[] = [];
  const stalls: Stall[] = [];
  const notRefreshed: string[] = [];
  let writes = 0;
  const store: Store = {
    ...memory,
    write: async (kind, batch) => {
      writes += 1;
      return outcome(writes) ?? memory.write(kind, batch);
    },
  };
  const deps = engineDeps(store, {
    wait: async (ms) => void pauses.push(ms),
    onStalled: (stall) => void stalls.push(stall),
    onNotRefreshed: (_, id, reason) => void notRefreshed.push(`${id}: ${reason}`),
    ...overrides,
  });
  const stored = (kind: Kind, id: string) => data.get(kind)?.get(id);
  return { deps, stored, pauses, stalls, notRefreshed, writes: () => writes };
}

const conflictWith = (detail: string | null): WriteResult => ({
  ...settled,
  conflicted: new Map([['tag_1', detail]]),
});
const refusal: WriteResult = { ...settled, refused: new Map([['tag_1', 'refused']]) };

describe('rounds without progress', () => {
  test('have no pause at first', async () => {
    const { deps, pauses, stalls, stored } = createTestStore((write) =>
      write <= 2 ? conflictWith(null) : null,
    );
    await applyChanges(deps, 'tag', [changeOf(tag)]);
    expect(stored('tag', 'tag_1')).toBeDefined();
    expect({ pauses, stalls }).toEqual({ pauses: [], stalls: [] });
  });

  test('have growing pauses of up to five seconds, and a report every ten rounds', async () => {
    const { deps, pauses, stalls } = createTestStore((write) => (write <= 40 ? conflictWith(null) : null));
    expect(await applyChanges(deps, 'tag', [changeOf(tag)])).toEqual([]);
    expect(pauses).toHaveLength(38);
    for (const [index, ms] of pauses.entries()) {
      const longest = Math.min(5_000, 10 * 2 ** index);
      expect(ms).toBeGreaterThanOrEqual(longest / 2);
      expect(ms).toBeLessThanOrEqual(longest);
    }
    const stall = { kind: 'tag', documents: 1, ids: ['tag_1'], cause: 'conflict' };
    expect(stalls).toEqual([10, 20, 30, 40].map((rounds) => ({ ...stall, rounds })));
  });

  test('end when the worker loses its partition', async () => {
    const ending = new AbortController();
    const { deps } = createTestStore(() => conflictWith(null), {
      signal: ending.signal,
      onStalled: () => ending.abort(new Error('revoked')),
    });
    const { wait: _wait, ...byClock } = deps;
    await expect(applyChanges(byClock, 'tag', [changeOf(tag)])).rejects.toThrow('revoked');
  });

  test('end a group of chunks, so each chunk is applied separately', async () => {
    const { deps } = createTestStore(() => conflictWith(null));
    const marked: string[] = [];
    const chunk = (id: string) => {
      const attempt = {
        signal: deps.signal,
        onProgress: () => undefined,
        onConflicting: () => void marked.push(id),
      };
      return parseChunk('tag', { topic: 'tags', records: [recordOf(created('tag', id), 1)] }, attempt);
    };
    await expect(applyPhaseOne(deps, [chunk('tag_1'), chunk('tag_2')])).rejects.toThrow(
      /tag documents .* tag_1/,
    );
    expect(marked).toEqual([]);
  });
});

describe('a write that conflicts', () => {
  const taken = 'its key is taken';

  test('a write that conflicts again and again with the same stored document makes its record a dead letter', async () => {
    const { deps, writes, stored } = createTestStore(() => conflictWith(taken));
    const rejections = await applyChanges(deps, 'tag', [changeOf(tag)]);
    expect(rejections.map(({ rejection }) => rejection)).toEqual([
      { reason: 'refused_by_store', detail: taken },
    ]);
    expect(writes()).toBe(5);
    expect(stored('tag', 'tag_1')).toBeUndefined();
  });

  test('a write that conflicts with ever new writes makes no dead letter', async () => {
    let revision = 0;
    const { deps, stored } = createTestStore(() => null);
    const store: Store = {
      ...deps.store,
      write: async (kind, batch) => {
        revision += 1;
        if (revision > 20) return deps.store.write(kind, batch);
        const document = {
          _id: 'tag_1',
          orgId: 'org_1',
          version: 1,
          revision,
          position: null,
          state: { id: 'tag_1' },
        };
        const guard = revision === 1 ? null : revision - 1;
        await deps.store.write(kind, [{ op: 'put', document, guard }]);
        return conflictWith(taken);
      },
    };
    expect(await applyChanges({ ...deps, store }, 'tag', [changeOf({ ...tag, version: 2 })])).toEqual([]);
    expect(stored('tag', 'tag_1')?.version).toBe(2);
  });

  test('a write that conflicts because of a rollback makes no dead letter', async () => {
    const { deps, stored } = createTestStore((write) => (write <= 30 ? conflictWith(null) : null));
    expect(await applyChanges(deps, 'tag', [changeOf(tag)])).toEqual([]);
    expect(stored('tag', 'tag_1')).toBeDefined();
  });
});

describe('a deletion that the store refuses', () => {
  test('becomes a dead letter that erases no other dead letter', async () => {
    const { deps, stored, notRefreshed } = createTestStore((write) => (write === 2 ? refusal : null));
    await applyChanges(deps, 'tag', [changeOf(tag)]);
    const records = [recordOf(deletionOf(tag, 2), 2)];
    const { changes, rejected } = await applyRecords(deps, 'tag', records);
    expect(rejected).toEqual([
      { record: records[0], rejection: { reason: 'refused_by_store', detail: 'refused' } },
    ]);
    expect({ changes, notRefreshed }).toEqual({ changes: [], notRefreshed: [] });
    expect(stored('tag', 'tag_1')?.state).toBeDefined();
  });
});
