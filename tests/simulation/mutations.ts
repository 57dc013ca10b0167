/** A fault planted in the code: texts, each of which stands once in its file, and what replaces them. */
export type Mutation = {
  name: string;
  file: string;
  edits: [find: string, replace: string][];
  /** How many schedules are tried, where few of them meet the fault. */
  schedules?: number;
};

const engine = 'services/projector/materialize';
const reconcile = `${engine}/reconcile.ts`;
const join = `${engine}/join.ts`;
const writes = `${engine}/writes.ts`;
const updateDependents = `${engine}/fan-out.ts`;
const memoryStore = 'tests/simulation/memory-store.ts';

/** What each part of the engine is for: without it, some schedule must not converge. */
export const mutations: Mutation[] = [
  {
    name: 'references are not rechecked after the write',
    file: reconcile,
    edits: [['...conflicted, ...builtOnOld]', '...conflicted]']],
  },
  {
    name: 'references are rechecked before the write',
    file: reconcile,
    edits: [
      [
        'const { conflicted, refused } = await store.write(kind, writes);',
        `const early = await recheck(deps, kind, targets, references);
  const { conflicted, refused } = await store.write(kind, writes);`,
      ],
      ['...conflicted, ...builtOnOld]', '...conflicted, ...(isFirst ? early : [])]'],
    ],
  },
  {
    name: 'what was built from remembered entities is not rechecked',
    schedules: 8_000,
    file: reconcile,
    edits: [['(isCached || !isSame(', '(!isSame(']],
  },
  {
    name: 'a refresh is built from remembered entities',
    file: reconcile,
    edits: [['const readReferenced = isCached ?', 'const readReferenced = isFirst ?']],
  },
  {
    name: 'a refresh leaves the revision as it is',
    file: writes,
    edits: [
      [
        'const revision = (current?.revision ?? 0) + 1;',
        'const revision = (current?.revision ?? 0) + (current && !item.isNewState && target ? 0 : 1);',
      ],
    ],
  },
  {
    name: 'a write is not guarded by the revision',
    file: memoryStore,
    edits: [['stored.revision === guard.revision', 'guard.revision > 0']],
  },
  {
    name: 'a conflicted write is not tried again',
    file: reconcile,
    edits: [['ids: [...remaining, ...conflicted, ...builtOnOld]', 'ids: [...remaining, ...builtOnOld]']],
  },
  {
    name: 'a deleted entity leaves no tombstone',
    file: memoryStore,
    edits: [
      [
        'else keep(kind, written(',
        "else if (write.op === 'put' && write.document.deletedAt) of(kind).delete(write.document._id);\n        else keep(kind, written(",
      ],
    ],
  },
  {
    name: 'an equal version is not checked again',
    file: reconcile,
    edits: [['current !== undefined && isSettled(deps, kind, current);', 'current !== undefined;']],
  },
  {
    name: 'what was built on old references is left so once another worker has applied it',
    schedules: 8_000,
    file: reconcile,
    edits: [['!stale.has(id) && ', '']],
  },
  {
    name: 'a state counts as shown to its dependents once it is stored',
    file: reconcile,
    edits: [['before: isKnown ? current : null,', 'before: current ?? null,']],
  },
  {
    name: 'a position counts as applied before its effect is durable',
    file: 'tests/simulation/simulate.ts',
    edits: [
      [
        'await applyChanges(deps, partition.kind, run);',
        `partition.applied = Math.max(partition.applied, position + run.length);
        await applyChanges(deps, partition.kind, run);`,
      ],
    ],
  },
  {
    name: 'dependents are refreshed before the entity is written',
    file: `${engine}/apply-changes.ts`,
    edits: [
      [
        'const { entities, rejections } = await reconcile(deps, kind, chunk, byId);',
        `const early = chunk.map((id) => {
      const orgId = byId.get(id)?.find((one) => one.op !== 'tombstone')?.orgId ?? null;
      const state = byId.get(id)?.findLast((one) => one.op === 'upsert')?.state;
      return { id, orgId, version: 0, state, before: null, resumeAt: undefined };
    });
    await updateDependents(deps, kind, early as never, []);
    const { entities, rejections } = await reconcile(deps, kind, chunk, byId);`,
      ],
      ['await updateDependents(deps, kind, [...entities.values()], passed);', 'void [entities, passed];'],
    ],
  },
  {
    name: 'the parent that a child has left is not refreshed',
    file: updateDependents,
    edits: [
      [
        'one.from === from ? [refOf(one.name, entity.id)] : []',
        "one.from === from && one.edge.type !== 'children' ? [refOf(one.name, entity.id)] : []",
      ],
    ],
  },
  {
    name: 'the parent that a child names is not refreshed',
    file: updateDependents,
    edits: [['await refreshAll(deps, from, parents);', '']],
  },
  {
    name: 'what a deleted entity covers along is not refreshed',
    file: updateDependents,
    edits: [
      [
        'one.from === from ? [refOf(one.name, entity.id)] : []',
        "one.from === from && one.edge.type !== 'owner' ? [refOf(one.name, entity.id)] : []",
      ],
    ],
  },
  {
    name: 'a new document is kept though its owner is deleted',
    file: join,
    edits: [['result.ownerDeleted ||= mine.some(({ deletedAt }) => deletedAt !== undefined);', '']],
  },
  {
    name: 'children are read in no order, and one that is met twice counts twice',
    file: `${engine}/mongo-first-children.ts`,
    edits: [
      ['const inOrder = { [field]: 1, orgId: 1, byCreated: 1 } as const;', 'const inOrder = null;'],
      ['family.set(child._id, child);', 'family.set(`${child._id} ${family.size}`, child);'],
    ],
  },
  {
    name: 'how far a fan-out has come is recorded before it has',
    schedules: 8_000,
    file: updateDependents,
    edits: [
      [
        `refOf(name, entity.id), after);`,
        `refOf(name, entity.id), after);
    if (page.next !== null)
      await deps.store.saveFanOutCursor(kind, stateOf(entity), { from, edge: name, after: page.next });`,
      ],
    ],
  },
  {
    name: 'how far a fan-out has come outlives the state that it was of',
    schedules: 20_000,
    file: reconcile,
    edits: [
      ["resumeAt: op === 'join' ? current?.fanOutCursor : undefined,", 'resumeAt: current?.fanOutCursor,'],
    ],
  },
  {
    name: 'a stale version is applied',
    file: `${engine}/evolve.ts`,
    edits: [
      ['if (current && change.version < current.version) return evolveStale(current, change, rules);', ''],
    ],
  },
];
