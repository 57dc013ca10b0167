import { createHash } from 'node:crypto';
import { conversationRoles, conversationStatuses } from '../../shared/documents/conversation.ts';
import { kinds, type Kind } from '../../shared/documents/document.ts';
import { messageRoles, messageTypes } from '../../shared/documents/message.ts';
import type { EntityState } from '../../shared/documents/resources.ts';
import { ticketStatuses } from '../../shared/documents/ticket.ts';
import { channelStates, channelStatus, issueCodes } from '../../services/api/resources/channels/status.ts';
import { rawHeaders } from '../../tests/support/example-records.ts';
import { parse } from '../../services/projector/events/parse.ts';
import { projections } from '../../services/projector/projections/projections.ts';
import { batchesOf, generateSampleData, recordsOf as encoded, type Size } from './sample-data.ts';
import type { SampleRecord } from './encode.ts';
import { liveChange } from './live-changes.ts';

const now = new Date('2026-03-04T05:06:07.089Z');
const recordsOf = (seed: number, size: Size) =>
  [...batchesOf(generateSampleData({ seed, size, now }))].flatMap(({ records }) => records);

function read({ kind, key, value, headers }: SampleRecord, offset: number) {
  const position = { partition: 0, offset, timestampMs: now.getTime() };
  const parsed = parse(kind, {
    key: Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    headers: rawHeaders(headers),
    position,
  });
  if ('rejected' in parsed) throw new Error(`${kind}: ${parsed.rejected.detail}`);
  return parsed.change;
}

/** The final state of each entity, folded by the rules of the event contract. */
function fold(records: SampleRecord[]) {
  const latest = new Map<string, { kind: Kind; version: number; state: EntityState[Kind] | null }>();
  records.forEach((record, offset) => {
    const change = read(record, offset);
    const version = change.op === 'tombstone' ? 0 : change.version;
    if (version <= (latest.get(change.id)?.version ?? 0)) return;
    latest.set(change.id, {
      kind: record.kind,
      version,
      state: change.op === 'upsert' ? change.state : null,
    });
  });
  const present = <K extends Kind>(kind: K) =>
    [...latest.values()]
      .filter((entity) => entity.kind === kind && entity.state)
      .map(({ state }) => state as EntityState[K]);
  const deleted = [...latest.values()].filter(({ state }) => state === null).map(({ kind }) => kind);
  return { present, deleted };
}

/** A third of the medium size. */
const size = { tickets: 700, contacts: 300, longestConversation: 1_500 };

describe('sample data', () => {
  const sampleData = generateSampleData({ seed: 1, size, now });
  const batches = [...batchesOf(sampleData)];
  const records = batches.flatMap((batch) => batch.records);
  const { present, deleted } = fold(records);
  const valuesOf = <T>(values: T[]) => [...new Set(values)].toSorted();

  test('has the documented size, in batches that stay small however long a conversation is', () => {
    expect(present('ticket').length).toBeGreaterThan(650);
    expect(present('message').length).toBeGreaterThan(6_000);
    const conversations = Map.groupBy(present('message'), ({ conversationId }) => conversationId);
    expect(Math.max(...[...conversations.values()].map(({ length }) => length))).toBeGreaterThan(1_400);
    for (const batch of batches) expect(batch.records.length).toBeLessThan(600);
  });

  test('has every value of every closed set', () => {
    const [channels, conversations, messages] = [
      present('channel'),
      present('conversation'),
      present('message'),
    ];
    const statuses = channels.map((channel) => channelStatus(channel, now));
    const providers = channels.flatMap((one) => (one.type === 'email' ? [one.config.provider] : []));
    const inline = messages.flatMap((one) => one.attachments.map((attachment) => attachment.inline));
    const found = [
      channels.map(({ type }) => type),
      statuses.map(({ state }) => state),
      statuses.flatMap(({ issues }) => issues),
      present('ticket').map(({ status }) => status),
      conversations.map(({ status }) => status),
      conversations.map(({ role }) => role),
      messages.map(({ role }) => role),
      messages.map(({ type }) => type),
    ];
    const all = [
      ['chatbot', 'email', 'form'],
      channelStates,
      issueCodes,
      ticketStatuses,
      conversationStatuses,
      conversationRoles,
      messageRoles,
      messageTypes,
    ];
    expect(found.map((values) => valuesOf<string>(values))).toEqual(
      all.map((values) => valuesOf<string>([...values])),
    );
    const counts = [valuesOf(providers), valuesOf(inline), valuesOf(messages.map((one) => one.author?.type))];
    expect(counts.map(({ length }) => length)).toEqual([3, 2, 4]);
  });

  test('has deleted entities, and tickets that refer to them', () => {
    expect(kinds.filter((kind) => !deleted.includes(kind)).toSorted()).toEqual(['agent', 'topic']);
    const contacts = new Set(present('contact').map(({ id }) => id));
    expect(present('ticket').some(({ requesterId }) => !contacts.has(requesterId))).toBe(true);
  });

  test('names a published entity in every reference that a projection declares', () => {
    const published = new Set(records.map(({ kind, key }) => `${kind} ${key}`));
    const named = kinds.flatMap((kind) =>
      present(kind).flatMap((state) =>
        projections[kind].edges.flatMap((edge) => {
          if (edge.type === 'owner') return [`${edge.to} ${String(state[edge.parentField as 'id'])}`];
          return edge.type === 'reference' ? edge.ids(state as never).map((id) => `${edge.to} ${id}`) : [];
        }),
      ),
    );
    expect(named.length).toBeGreaterThan(15_000);
    expect(named.filter((reference) => !published.has(reference))).toEqual([]);
  });

  test('has only the hash of the token of each API key', () => {
    const hashes = new Map(present('apiKey').map((key) => [key.tokenSha256, key]));
    const published = records.map(({ value }) => value ?? '').join('\n');
    for (const { token, state } of sampleData.apiKeys) {
      expect(token).toMatch(/^svc_(live|test)_[a-z0-9]{40}$/);
      const key = hashes.get(createHash('sha256').update(token).digest('hex'));
      expect([Boolean(key), Boolean(key?.archivedAt)]).toEqual([state !== 'deleted', state === 'archived']);
      expect(published).not.toContain(token);
    }
  });

  test('uses both content modes and redelivers records', () => {
    const modes = valuesOf(records.map(({ headers }) => headers['content-type']?.split(';')[0] ?? ''));
    expect(modes).toEqual(['', 'application/cloudevents+json', 'application/json']);
    expect(new Set(records.map((record) => JSON.stringify(record))).size).toBeLessThan(records.length);
  });
});

test('the same seed, size and now return the same data, another seed returns other data', () => {
  expect(recordsOf(7, 'small')).toEqual(recordsOf(7, 'small'));
  expect(recordsOf(8, 'small')).not.toEqual(recordsOf(7, 'small'));
});

test('live changes continue the sample data: valid records with rising versions, of new and existing entities', () => {
  const sampleData = generateSampleData({ seed: 5, size: 'small', now });
  const versions = new Map<string, number>();
  const seen = new Set<Kind>();
  const versionsOf = (records: SampleRecord[], offset: number) =>
    records.map((record) => {
      const change = read(record, offset);
      if (change.op !== 'tombstone') return { record, id: change.id, version: change.version };
      return { record, id: change.id, version: Infinity };
    });
  for (const { records } of batchesOf(sampleData)) {
    for (const { id, version } of versionsOf(records, 0))
      versions.set(id, Math.max(version, versions.get(id) ?? 0));
  }
  for (let step = 0; step < 2_000; step++) {
    const { state } = sampleData;
    const records = liveChange(state, now).flatMap((event) => encoded(state.random, event));
    for (const { record, id, version } of versionsOf(records, step)) {
      expect(version).toBe((versions.get(id) ?? 0) + 1);
      versions.set(id, version);
      seen.add(record.kind);
    }
  }
  const expected = ['channel', 'contact', 'conversation', 'message', 'ticket', 'topic'];
  expect([...seen].toSorted()).toEqual(expected);
});
