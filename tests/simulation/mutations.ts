/** A fault planted in the code, as a replacement of text that stands there once. */
export type Mutation = { name: string; file: string; find: string; replace: string };

const settle = 'services/projector/materialize/settle.ts';
const fanOut = 'services/projector/materialize/fan-out.ts';
const dependents = 'services/projector/materialize/dependents.ts';
const engine = 'services/projector/materialize/engine.ts';
const evolve = 'services/projector/materialize/evolve.ts';
const memoryStore = 'tests/simulation/memory-store.ts';

/** What each part of the engine is for: without it, some schedule must not converge. */
export const mutations: Mutation[] = [
  {
    name: 'the last look is left out',
    file: settle,
    find: 'open = [...rest, ...lost, ...(await lastLook(options.store, kind, written, drafts))];',
    replace: 'open = [...rest, ...lost];',
  },
  {
    name: 'the last look comes before the write',
    file: settle,
    find: `const lost = await options.store.write(kind, writes);`,
    replace: `const early = await lastLook(options.store, kind, writes, drafts);
    const lost = await options.store.write(kind, writes);
    if (early) {
      open = [...new Set([...rest, ...lost, ...early])];
      for (const { document } of writes) if (!lost.has(document._id)) settled.documents.set(document._id, document);
      continue;
    }`,
  },
  {
    name: 'a write is not guarded by the revision',
    file: memoryStore,
    find: 'stored.revision === guard.revision',
    replace: 'guard.revision > 0',
  },
  {
    name: 'a deleted entity leaves no tombstone',
    file: memoryStore,
    find: 'else of(kind).set(write.document._id',
    replace:
      'else if (write.document.deletedAt) of(kind).delete(write.document._id); else of(kind).set(write.document._id',
  },
  {
    name: 'dependents are told before the entity is written',
    file: engine,
    find: `const { documents, rejections } = await settle(options, kind, some, byId);
    refused.push(...rejections);
    const passed = some.flatMap((id) => passedStates(byId.get(id) ?? [], documents.get(id)));
    await fanOut(options, kind, [...documents.values()], passed);`,
    replace: `const before = ids.map((id) => {
      const orgId = byId.get(id)?.find((one) => one.op !== 'tombstone')?.orgId ?? null;
      return { _id: id, orgId, own: byId.get(id)?.findLast((one) => one.op === 'upsert')?.own };
    });
    await fanOut(options, kind, before as never, []);
    const { rejections } = await settle(options, kind, some, byId);
    refused.push(...rejections);`,
  },
  {
    name: 'an equal version is not looked at again',
    file: settle,
    find: 'if (entity) drafts.push({ id, current, entity, changed });',
    replace: 'if (entity && (changed || !changes.has(id))) drafts.push({ id, current, entity, changed });',
  },
  {
    name: 'the parent that a child has left is not told',
    file: dependents,
    find: "      if (edge.type === 'first') plan.first = { name, parent: edge.parent };\n      plan.refs.add(`${kind}:${entity._id}`);",
    replace: "      if (edge.type === 'first') plan.first = { name, parent: edge.parent };",
  },
  {
    name: 'the parent that a child names is not told',
    file: dependents,
    find: "if (entity.own) plan.parents.add((entity.own as Record<string, string>)[edge.parent] ?? '');",
    replace: '',
  },
  {
    name: 'what dependents have been shown is noted before they are told',
    file: fanOut,
    find: '  const told = new Set<Kind>();',
    replace:
      '  await note(options.store, kind, entities, dependentKinds(kind));\n  const told = new Set<Kind>();',
  },
  {
    name: 'how far dependents have been told is noted before they are',
    file: fanOut,
    find: `    await settleAll(options, from, rest);
    if (next !== null) await onPage({ kind: from, after: next });`,
    replace: `    if (next !== null) await onPage({ kind: from, after: next });
    await settleAll(options, from, rest);`,
  },
  {
    name: 'how far dependents have been told outlives the state that they were told',
    file: settle,
    find: '...(fanned && { fanned }) };',
    replace: '...(fanned && { fanned }), ...(current?.reached && { reached: current.reached }) };',
  },
  {
    name: 'a stale version is applied',
    file: evolve,
    find: 'if (current && change.version < current.version) return evolveStale(current, change, rules);',
    replace: '',
  },
  {
    name: 'a lost race is not run again',
    file: settle,
    find: 'open = [...rest, ...lost, ...(await',
    replace: 'open = [...rest, ...(await',
  },
];
