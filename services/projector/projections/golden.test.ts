import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { projectionVersion, servedVersions } from '../../../shared/control/generations.ts';
import { examples, type Kind, kinds, resources, states } from '../../../shared/documents/resources.ts';
import { distinctState } from '../../../tests/served-fields/distinct-state.ts';
import { documentChanges } from '../../../tests/support/document-changes.ts';
import { exampleJoin, living } from '../../../tests/support/example-join.ts';
import { readState } from '../../operations/verify/stored-state.ts';

/**
 * `UPDATE_GOLDEN=1` records an additive change, a new entity and a new version. A version's own file has the documents
 * of its first release, which later releases still read: they never change. `present.json` has the documents of this
 * code.
 */
const mayWrite = process.env.UPDATE_GOLDEN === '1';
const folder = join(__dirname, 'golden');
const versionPath = join(folder, `version-${projectionVersion}.json`);
const presentPath = join(folder, 'present.json');

/** The instant of the examples, with an offset and more digits than are kept. */
const createdAt = '2026-01-01T01:00:00.000456789+01:00';

/** Values for the references of the examples, so that every edge finds its entity. */
const references: { [K in Kind]?: Record<string, unknown> } = {
  ticket: { requesterId: 'con_1', tagIds: ['tag_1'], topicIds: ['topic_1'] },
  conversation: {
    ticketId: 'ti_1',
    channelId: 'chan_1',
    contactId: 'con_1',
    assignedUserId: 'user_1',
    tagIds: ['tag_1'],
    topicIds: ['topic_1'],
  },
  channel: { agentId: 'agent_1' },
  message: { conversationId: 'conv_1', author: { type: 'contact', id: 'con_1' } },
};

/** The type of each field, including fields that are null in an example. */
function typesOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(typesOf);
  if (value instanceof Date) return 'date';
  if (typeof value !== 'object' || value === null) return typeof value;
  const types: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) types[name] = typesOf(inner);
  return types;
}

type Schemas = { [K in Kind]: z.ZodType };
type Documents = { [K in Kind]?: unknown };

/** The entities to which `references` lead. */
const referenced = [
  living('contact'),
  living('user'),
  living('agent'),
  living('tag'),
  living('topic'),
  living('channel', { dataRetentionDays: 30 }),
  living('ticket'),
  living('conversation', references.conversation),
];

/** The documents of this code: each kind alone, and with everything that it refers to. */
function documents(schemas: Schemas = states, stateOf = distinctState): Documents {
  const byKind: Documents = {};
  for (const kind of kinds) byKind[kind] = documentsOf(kind, schemas[kind], stateOf);
  return byKind;
}

function documentsOf(kind: Kind, schema: z.ZodType, stateOf: typeof distinctState): object {
  const example = examples[kind];
  const times = 'createdAt' in example ? { createdAt } : {};
  const changes = { ...times, ...references[kind] };
  const state = schema.parse({ ...example, ...changes });
  const sortKeys = (resources[kind].sortKeys as (stored: unknown) => object)(state);
  const alone = exampleJoin().whenJoined(kind, changes);
  const joined = exampleJoin(...referenced).whenJoined(kind, changes);
  const types = [0, 1, 2].map((variant) => {
    const distinct = stateOf(schema, kind, variant);
    return typesOf(schema.parse(distinct));
  });
  return { state, sortKeys, alone, joined, types };
}

const readDocuments = (path: string): Documents =>
  existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Documents) : {};
const toJson = (value: object): Documents => JSON.parse(JSON.stringify(value)) as Documents;
/** The documents that this code writes. */
const actual = toJson(documents());

/** The recorded documents of the first release of this version, and of the last release. This code must read both. */
const recordedFirst = readDocuments(versionPath);
const recordedLast = readDocuments(presentPath);
const isNewVersion = !existsSync(versionPath);

/** The recorded documents of a kind. A new version may change anything, and a new kind has none. */
function recordedOf(kind: Kind): unknown[] {
  if (isNewVersion) return [];
  const withKind = [recordedFirst, recordedLast].filter((recorded) => kind in recorded);
  return withKind.map((recorded) => recorded[kind]);
}

/** A recorded state as MongoDB returns it: JSON has a text for each date. */
const storedState = (recorded: unknown): object => {
  const { state } = recorded as { state: object };
  const instants = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
  const revive = (_: string, value: unknown) =>
    typeof value === 'string' && instants.test(value) ? new Date(value) : value;
  return JSON.parse(JSON.stringify(state), revive) as object;
};

/** The fields without which this code cannot read a recorded state: fields that it newly requires. */
function unreadable(kind: Kind, recorded: unknown): string[] {
  const readBack = readState(kind, storedState(recorded));
  return 'broken' in readBack ? [readBack.broken] : [];
}

/** The fields that a kind's documents have lost, changed or newly require since a release of this version. */
function broken(kind: Kind): string[] {
  const fields = new Set<string>();
  for (const recorded of recordedOf(kind)) {
    const { changed } = documentChanges(recorded, actual[kind]);
    for (const field of [...changed, ...unreadable(kind, recorded)]) fields.add(field);
  }
  return [...fields];
}

beforeAll(() => {
  if (!mayWrite || kinds.some((kind) => broken(kind).length > 0)) return;
  writeFileSync(versionPath, JSON.stringify({ ...actual, ...recordedFirst }));
  writeFileSync(presentPath, JSON.stringify(actual));
  const prettier = ['node_modules/prettier/bin/prettier.cjs', '--write', versionPath, presentPath];
  execFileSync(process.execPath, prettier);
});

test.each(kinds)('documents of %s only gain fields within a projection version', (kind) => {
  const changed = broken(kind);
  if (changed.length > 0)
    throw new Error(
      `${kind} documents have lost, changed or come to require ${changed.join(', ')}: releases of projection version ` +
        `${projectionVersion} would read them wrongly. If that is meant, raise \`projectionVersion\` in shared/control/generations.ts, run this with ` +
        'UPDATE_GOLDEN=1, and rebuild: docs/contributing.md says how such a change is deployed.',
    );
});

test.each(kinds)('documents of %s are the recorded ones', (kind) => {
  const recorded = readDocuments(presentPath);
  const { gained } = documentChanges(recorded[kind] ?? {}, actual[kind]);
  if (gained.length > 0)
    throw new Error(
      `${kind} documents have gained ${gained.join(', ')}: an additive change. Record it with UPDATE_GOLDEN=1. No version ` +
        'rises, and no generation is rebuilt: `support-cli verify --repair` brings a new joined field to the stored documents.',
    );
  expect(actual[kind]).toEqual(recorded[kind]);
});

/** A schema with one more field, as a release adds it: optional, in each form that the state has. */
function withField(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodObject) return schema.extend({ added: z.string().nullish() });
  if (schema instanceof z.ZodUnion) return z.union((schema.options as z.ZodType[]).map(withField));
  if (!(schema instanceof z.ZodPipe)) throw new Error(`${schema.type} is no schema of a state`);
  return z.pipe(withField(schema.in as z.ZodType), schema.out);
}

/** `distinctState` as another process has it: loaded again, without state from earlier calls. */
function distinctStateOfAnotherProcess(): typeof distinctState {
  let loaded = { distinctState };
  jest.isolateModules(() => {
    loaded = jest.requireActual('../../../tests/served-fields/distinct-state.ts');
  });
  return loaded.distinctState;
}

test.each(kinds)('a field that is added to %s is an additive change of this kind only', (kind) => {
  const schemas = { ...states, [kind]: withField(states[kind]) };
  const extended = toJson(documents(schemas, distinctStateOfAnotherProcess()));
  for (const otherKind of kinds.filter((candidate) => candidate !== kind))
    expect(extended[otherKind]).toEqual(actual[otherKind]);
  const { gained, changed } = documentChanges(actual[kind], extended[kind]);
  expect(changed).toEqual([]);
  expect(new Set(gained)).toEqual(new Set([0, 1, 2].map((variant) => `types[${variant}].added`)));
});

test('only the versions that the API serves have a golden file', async () => {
  const files = servedVersions.map((version) => `version-${version}.json`);
  expect((await readdir(folder)).toSorted()).toEqual(['present.json', ...files].toSorted());
});

test.each([
  { name: 'a new field', former: { a: 1 }, present: { a: 1, b: 2 }, gained: ['b'], changed: [] },
  {
    name: 'a field of a list',
    former: [{ a: 1 }],
    present: [{ a: 1, b: 2 }],
    gained: ['[0].b'],
    changed: [],
  },
  {
    name: 'a reference',
    former: { refs: ['x:1'] },
    present: { refs: ['y:2', 'x:1'] },
    gained: ['refs'],
    changed: [],
  },
  { name: 'a lost field', former: { a: { b: 1 } }, present: { a: {} }, gained: [], changed: ['a.b'] },
  {
    name: 'a lost reference',
    former: { refs: ['x:1'] },
    present: { refs: [] },
    gained: [],
    changed: ['refs'],
  },
  { name: 'another type', former: { a: 1 }, present: { a: '1', b: 1 }, gained: ['b'], changed: ['a'] },
  { name: 'a value for null', former: { a: null }, present: { a: 1 }, gained: [], changed: ['a'] },
  { name: 'a longer list', former: { a: [1] }, present: { a: [1, 2] }, gained: [], changed: ['a'] },
])('$name is distinguished from other changes', ({ former, present, gained, changed }) => {
  expect(documentChanges(former, present)).toEqual({ gained, changed });
});
