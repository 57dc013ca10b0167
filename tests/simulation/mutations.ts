/** A fault to plant in the code: texts, each of which occurs once in its file, and their replacements. */
export type Mutation = {
  name: string;
  file: string;
  edits: { [find: string]: string };
  /** How many schedules to try, if few of them meet the fault. */
  schedules?: number;
};

const engine = 'services/projector/materialize';
const reconcile = `${engine}/reconcile.ts`;
const evolve = `${engine}/evolve.ts`;
const plan = `${engine}/plan.ts`;
const join = `${engine}/join.ts`;
const writes = `${engine}/writes.ts`;
const fanOut = `${engine}/fan-out.ts`;
const sweep = 'services/projector/retention/sweep.ts';
const verify = 'services/operations/verify/verify-documents.ts';
const memoryStore = 'tests/simulation/memory-store.ts';

/** Each disables one part of the engine; some schedule must then not converge. See docs/internals/simulation.md. */
export const mutations: Mutation[] = [
  {
    name: 'references are not rechecked after the write',
    file: reconcile,
    edits: { 'outcome.unfinished.push(...outcome.outdated);': '' },
  },
  {
    name: 'references are rechecked before the write',
    file: reconcile,
    edits: {
      'const result = await store.write(kind, writes);': `const early = await recheckReferences(store, kind, joinInputs, references);
  const result = await store.write(kind, writes);`,
      'outcome.outdated = await recheckReferences(store, kind, toRecheck, references);':
        'outcome.outdated = early.filter((id) => toRecheck.some((joinInput) => joinInput.id === id));',
    },
  },
  {
    name: 'a refresh leaves the revision as it is',
    file: writes,
    edits: {
      'const revision = newRevision();':
        'const revision = current && !upsert && joinInput ? current.revision : newRevision();',
    },
  },
  {
    name: 'a write is not guarded by the revision',
    file: memoryStore,
    edits: { 'stored.revision === guard': 'guard > 0' },
  },
  {
    name: 'a conflicted write is not tried again',
    file: reconcile,
    edits: { 'outcome.unfinished.push(id);\n      continue;': 'continue;' },
  },
  {
    name: 'a deleted entity leaves no tombstone',
    file: memoryStore,
    edits: {
      'save(kind, written(stored, write));':
        "if (write.op === 'put' && write.document.deletedAt) documents(kind).delete(_id);\n          else save(kind, written(stored, write));",
    },
  },
  {
    name: 'an equal version is not checked again',
    file: plan,
    edits: { 'current !== undefined && isPropagated(deps, kind, current);': 'current !== undefined;' },
  },
  {
    name: 'an outdated document is not joined again once another worker has applied its change',
    schedules: 8_000,
    file: plan,
    edits: { '!outdated.has(id) && ': '' },
  },
  {
    name: 'a state counts as propagated once it is stored',
    file: reconcile,
    edits: { 'before: propagatedBefore(deps, kind, plannedWrite),': 'before: current ?? null,' },
  },
  {
    name: 'a position counts as applied before its effect is durable',
    file: 'tests/simulation/workers.ts',
    edits: {
      'return applyTogether(': `for (const { assigned: { partition, position }, records } of fetched)
    partition.applied = Math.max(partition.applied, position + records.length);
  return applyTogether(`,
    },
  },
  {
    name: 'dependents are refreshed before the entity is written',
    file: fanOut,
    edits: {
      'const { entities, rejections, repeated } = await reconcileAll(': `const early = [...byId].map(([id, some]) => {
      const state = some.findLast((change) => change.op === 'upsert')?.state;
      return { id, version: 0, state, before: null, resumeAt: undefined };
    });
    await updateDependents(deps, kind, early as never);
    const { entities, rejections, repeated } = await reconcileAll(`,
      'outcome.largeFanOuts.set(kind, await findStale(deps, kind, applied, superseded, stale));':
        'void superseded;',
    },
  },
  {
    name: 'kinds are applied after those that refer to them',
    file: `${engine}/edges.ts`,
    edits: { 'levelOf(a) - levelOf(b)': 'levelOf(b) - levelOf(a)' },
  },
  {
    name: 'a stale document is not written if its own change has been applied',
    file: reconcile,
    edits: { 'new Set(stale)': 'new Set<string>()' },
  },
  {
    name: 'a chunk is complete before its large fan-outs',
    file: fanOut,
    edits: { 'await refreshLarge(deps, kind, entities);': 'void entities;' },
  },
  {
    name: 'the parent that a child has left is not refreshed',
    file: fanOut,
    edits: {
      'if (incoming.from === from) refs':
        "if (incoming.from === from && incoming.edge.type !== 'children') refs",
    },
  },
  {
    name: 'the parent that a child names is not refreshed',
    file: fanOut,
    edits: { '...staleIds, ...parents, ': '...staleIds, ' },
  },
  {
    name: 'documents of a deleted owner are not refreshed',
    file: fanOut,
    edits: {
      'if (incoming.from === from) refs':
        "if (incoming.from === from && incoming.edge.type !== 'owner') refs",
    },
  },
  {
    name: 'a new document stays although its owner is deleted',
    file: join,
    edits: { 'ownerDeleted ||= owner?.deletedAt !== undefined;': '' },
  },
  {
    name: 'children are read in no order, and a child that is returned twice counts twice',
    file: `${engine}/mongo-first-children.ts`,
    edits: {
      'const inOrder = { [field]: 1, orgId: 1, byCreated: 1 } as const;': 'const inOrder = null;',
      'family.set(child._id, child);': 'family.set(`${child._id} ${family.size}`, child);',
    },
  },
  {
    name: 'the fan-out cursor is saved before its page is refreshed',
    schedules: 8_000,
    file: fanOut,
    edits: {
      [`ref, after);`]: `ref, after);
    if (page.next !== null)
      await deps.store.saveFanOutCursor(kind, stateOf(entity), { from, edge: edge.name, after: page.next });`,
    },
  },
  {
    name: 'the fan-out cursor outlives its state',
    schedules: 20_000,
    file: reconcile,
    edits: { "op === 'join' ? current?.fanOutCursor : document.fanOutCursor,": 'current?.fanOutCursor,' },
  },
  {
    name: 'a deletion goes on at the fan-out cursor of the state before it',
    schedules: 8_000,
    file: writes,
    edits: { 'current?.deletedAt && current.orgId': 'current?.orgId' },
  },
  {
    name: 'a deletion that is interrupted starts its fan-out again',
    file: writes,
    edits: { 'if (unfinishedCursor)': 'if (unfinishedCursor && deps.outOfOrder)' },
  },
  {
    name: 'a stale version is applied',
    file: evolve,
    edits: {
      'if (!current || change.version > current.version)': 'if (change.version !== current?.version)',
    },
  },
  {
    name: 'a tombstone of a conversation deletes only the versions before it',
    file: evolve,
    edits: {
      'rules.deletionIsFinal || !known.position || known': '!known.position || known',
      'const isFinal = rules.deletionIsFinal && current?.deletedAt !== undefined;':
        'const isFinal = rules.deletionIsFinal && current?.version !== 0 && current?.deletedAt !== undefined;',
    },
  },
  {
    name: 'a final deletion of a lower version is ignored',
    file: evolve,
    edits: { "if (change.op === 'delete' && rules.deletionIsFinal && !current.deletedAt)": 'if (false)' },
  },
  {
    name: 'a deletion of an equal version is ignored',
    file: evolve,
    edits: {
      'if (change.version === current.version) return':
        "if (change.version === current.version && change.op === 'delete') return { entity: current, changed: false };\n  if (change.version === current.version) return",
    },
  },
  {
    name: 'an entity keeps the earliest record of its version',
    file: evolve,
    edits: { 'isAfter(change.position, current.position);': 'isAfter(current.position, change.position);' },
  },
  {
    name: 'a record after a deletion of its version brings the entity back',
    file: evolve,
    edits: { 'if (next.deletedByEvent || isFinal': "if (change.op === 'delete' || isFinal" },
  },
  {
    name: 'a redriven state counts as propagated once it is stored',
    schedules: 5_000,
    file: 'tests/simulation/actors.ts',
    edits: { '{ isApplied: () => false, outOfOrder: true }': '{ isApplied: () => true }' },
  },
  {
    name: 'a purge is not followed by its fan-out',
    file: sweep,
    edits: { "await updateDependents(deps, 'conversation', changed);": 'void [updateDependents, changed];' },
  },
  {
    name: 'a repair joins a document from its references, which may lack an edge',
    file: verify,
    edits: { 'idsIn: (': 'unused: (' },
  },
];
