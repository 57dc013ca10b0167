import { pino } from 'pino';
import { idPrefixOf } from '../../infra/sample-data/entity.ts';
import { engineOf, verifyDocuments } from '../../services/operations/verify/verify-documents.ts';
import { examples, type Kind, kinds, states } from '../../shared/documents/resources.ts';
import { loggedError } from '../../shared/runtime/logger.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import * as build from './builders.ts';
import { lists, now } from './every-route.ts';
import { tokens, useApi } from './test-api.ts';

type Line = { level: string; kind?: string; id?: string; error?: { type: string; message: string } };
const lines: Line[] = [];
const logger = pino(
  {
    level: 'error',
    serializers: { error: loggedError },
    formatters: { level: (label) => ({ level: label }) },
  },
  { write: (line: string) => lines.push(JSON.parse(line) as Line) },
);

/** The values that an operator's edit may leave in a field. `undefined` removes it. */
const values: Record<string, unknown> = {
  removed: undefined,
  null: null,
  number: 5,
  text: 'x',
  object: { a: 1 },
};

type Edit = { id: string; field: string; how: string };

const listedKinds = [...new Set(lists.map(({ kind }) => kind))];

/** Whether an event of the kind may omit the field. Then a document may lack the field, and readers get null. */
function isOptional(kind: Kind, name: string): boolean {
  const accepts = (value: unknown) => states[kind].safeParse({ ...examples[kind], [name]: value }).success;
  // A schema accepts any value of a field that it does not know.
  return accepts(undefined) && !accepts(values.object);
}

const isRemovedOptional = (kind: Kind, { field, how }: Edit) =>
  how === 'removed' && isOptional(kind, field.replace('state.', ''));

/** Each field of the state, with each value; the whole state, and all joined fields. */
function editsOf(kind: Kind): Edit[] {
  const prefix = idPrefixOf(kind);
  const { state } = build.anyOf(kind, { id: `${prefix}x` });
  const edits: Edit[] = [];
  for (const field of ['state', 'joined', ...Object.keys(state).map((name) => `state.${name}`)]) {
    for (const how of Object.keys(values))
      edits.push({ id: `${prefix}${field.replace('.', '_')}_${how}`, field, how });
  }
  return edits;
}

const idOf = ({ id }: { id: string }) => id;

/** Conversations of a ticket that its document does not embed, and a conversation with messages. */
const further = ['createdAt', 'updatedAt', 'role'].map((field) => ({ field, id: `conv_further_${field}` }));
const untouched = 'untouched';
const untouchedId = (kind: Kind) => `${idPrefixOf(kind)}${untouched}`;

function storedDocuments(): build.Documents {
  const furtherIds = [...further.map(idOf), 'conv_further_last'];
  const documents: build.Documents = {
    conversation: [
      build.conversation({ id: 'conv_1', ticketId: 'ti_other' }),
      ...furtherIds.map((id) => build.conversation({ id, ticketId: 'ti_many' })),
    ],
  };
  for (const kind of listedKinds) {
    const ids = [...editsOf(kind).map(idOf), untouchedId(kind)];
    documents[kind] = ids.map((id) => build.anyOf(kind, { id }));
  }
  return documents;
}

// Time stands still: the log names a document once a minute, and every test lies within one minute.
const api = useApi(storedDocuments(), { now, logger, nowMs: () => 0 });

type Answer = {
  status: number;
  body: { data?: { id?: string }[]; nextCursor?: string | null } & Record<string, unknown>;
};

/**
 * Returns an answer without validation by the OpenAPI document: where it can, the API shows a value of another type.
 */
const ask = async (path: string): Promise<Answer> => {
  const headers = { 'X-Forwarded-Proto': 'https', Authorization: `Bearer ${tokens.a}` };
  const response = await fetch(api.url + path, { headers });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
};

/** Reads all pages of a list, each of which must be 200. Returns the ids. */
const readAllIds = async (url: string): Promise<(string | undefined)[]> => {
  const ids: (string | undefined)[] = [];
  let cursor = '';
  for (;;) {
    const { status, body } = await ask(`${url}?limit=50${cursor}`);
    expect(status).toBe(200);
    ids.push(...(body.data ?? []).map(({ id }) => id));
    if (!body.nextCursor) return ids;
    cursor = `&startingAfter=${body.nextCursor}`;
  }
};

async function editAll(kind: Kind, edits: Edit[]): Promise<void> {
  const operations = edits.map(({ id, field, how }) => {
    const value = values[how];
    const update = value === undefined ? { $unset: { [field]: '' } } : { $set: { [field]: value } };
    return { updateOne: { filter: { _id: id }, update } };
  });
  await collectionOf(api.store.database, kind).bulkWrite(operations as never);
}

beforeAll(async () => {
  for (const kind of listedKinds) await editAll(kind, editsOf(kind));
  const furtherEdits = further.map(({ id, field }) => ({ id, how: 'removed', field: `state.${field}` }));
  await editAll('conversation', furtherEdits);
  const many = { ...build.ticket({ id: 'ti_many' }), orgId: 'org_b' };
  Object.assign(many.joined, { moreAfter: '0' });
  await build.store(api.store.database, 'ticket', [many]);
  await collectionOf(api.store.database, 'conversation').updateMany(
    { 'state.ticketId': 'ti_many' },
    { $set: { orgId: 'org_b' } },
  );
});

/** The documents that verify cannot read. */
async function unreadable(kind: Kind): Promise<Set<string>> {
  const { database } = api.store;
  const documents = await collectionOf<{ _id: string }>(database, kind).find().project({ _id: 1 }).toArray();
  const ids = documents.map(({ _id }) => _id as string);
  const { notRepaired } = await verifyDocuments(engineOf(database, now()), kind, ids, { isRepair: false });
  return new Set(notRepaired.keys());
}

const countOf = async (kind: string) => {
  const { values: counts } = await api.metrics.documentsLeftOut.get();
  return counts.find(({ labels }) => labels.kind === kind)?.value ?? 0;
};

describe.each(lists)(
  'the list $path with documents of the kind $kind that an operator has edited',
  ({ kind, url }) => {
    test('every page is answered, and the log names each document that the list leaves out', async () => {
      lines.splice(0);
      const before = await countOf(kind);
      const listed = new Set(await readAllIds(url));
      expect(listed).toContain(untouchedId(kind));
      const logged = lines.map(({ id }) => String(id));
      expect(lines.every((line) => line.kind === kind && line.level === 'error')).toBe(true);
      expect(logged.length).toBeGreaterThan(10);
      expect((await countOf(kind)) - before).toBe(logged.length);
      expect(logged.filter((id) => listed.has(id))).toEqual([]);
      // Verify does not check joined fields, so it names every other document that the log names.
      const unreadableIds = await unreadable(kind);
      const joined = editsOf(kind).filter(({ field }) => field === 'joined');
      const namedElsewhere = new Set([...unreadableIds, ...joined.map(idOf)]);
      expect(logged.filter((id) => !namedElsewhere.has(id))).toEqual([]);
    });

    test('verify names each document with an invalid state and no other', async () => {
      const unreadableIds = await unreadable(kind);
      const ofState = editsOf(kind).filter(({ field }) => field.startsWith('state'));
      // An optional field may be null or absent, and some texts and numbers are valid values.
      const invalid = ofState.filter(
        (edit) => ['removed', 'object'].includes(edit.how) && !isRemovedOptional(kind, edit),
      );
      expect(invalid.map(idOf).filter((id) => !unreadableIds.has(id))).toEqual([]);
      const optional = ofState.filter((edit) => isRemovedOptional(kind, edit));
      expect(optional.map(idOf).filter((id) => unreadableIds.has(id))).toEqual([]);
      expect(unreadableIds).not.toContain(untouchedId(kind));
    });

    test('the list has a document without an optional field', async () => {
      const listed = new Set(await readAllIds(url));
      const optional = editsOf(kind).filter((edit) => isRemovedOptional(kind, edit));
      expect(optional.map(idOf).filter((id) => !listed.has(id))).toEqual([]);
    });

    test('the log names a document once a minute', async () => {
      lines.splice(0);
      await readAllIds(url);
      expect(lines).toEqual([]);
    });
  },
);

test.each([
  ['ticket', '/v1/tickets'],
  ['channel', '/v1/channels'],
] as const)(
  'the request of a %s that lists leave out is an internal error, and the log has its id',
  async (kind, path) => {
    lines.splice(0);
    const listed = new Set(await readAllIds(path));
    // A list shows an edited `state.id` as it is.
    const leftOut = editsOf(kind).filter(({ id, field }) => field !== 'state.id' && !listed.has(id));
    expect(leftOut.length).toBeGreaterThan(10);
    for (const { id } of leftOut) {
      const { status } = await ask(`${path}/${id}`);
      expect({ id, status }).toEqual({ id, status: 500 });
      const { error } = lines.at(-1) ?? {};
      expect(error).toMatchObject({ type: 'UnreadableDocument' });
      expect(error?.message).toContain(id);
    }
  },
);

test('a conversation or ticket is sent without its unreadable messages or conversations', async () => {
  const { status, body } = await ask('/v1/conversations/conv_1');
  const messages = (body.messages as { id: string }[]).map(({ id }) => id);
  expect(status).toBe(200);
  expect(messages).toContain(`msg_${untouched}`);
  expect(messages).not.toContain('msg_state_createdAt_removed');
  for (const path of ['/v1/tickets', '/v1/tickets/ti_many']) {
    const { text } = await api.get(path, { token: tokens.b });
    expect(text).toContain('conv_further_last');
    expect(text).not.toContain('conv_further_updatedAt');
  }
});

test('requests of an unreadable conversation and of its messages are internal errors', async () => {
  await editAll('conversation', [{ id: 'conv_1', field: 'state.updatedAt', how: 'removed' }]);
  for (const path of ['/v1/conversations/conv_1', '/v1/conversations/conv_1/messages']) {
    expect((await ask(path)).status).toBe(500);
    expect(lines.at(-1)?.error?.message).toContain('conv_1');
  }
});

test('verify reports no document that the projector could have written as unreadable', async () => {
  const unedited = kinds.filter((kind) => !listedKinds.includes(kind) && kind !== 'conversation');
  for (const kind of unedited) expect(await unreadable(kind)).toEqual(new Set());
});
