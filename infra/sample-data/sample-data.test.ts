import { createHash } from 'node:crypto';
import { conversationStatuses } from '../../shared/documents/conversation.ts';
import { kinds, type Kind } from '../../shared/documents/document.ts';
import { messageRoles, messageTypes } from '../../shared/documents/message.ts';
import type { EntityState } from '../../shared/documents/resources.ts';
import { ticketStatuses } from '../../shared/documents/ticket.ts';
import { channelStates, channelStatus, issueCodes } from '../../services/api/resources/channels/status.ts';
import { parse } from '../../services/projector/events/parse.ts';
import { generateSampleData, type Size } from './sample-data.ts';
import type { SampleRecord } from './encode.ts';
import { liveChanges } from './live-changes.ts';

const now = new Date('2026-03-04T05:06:07.089Z');
const recordsOf = (seed: number, size: Size) =>
  [...generateSampleData({ seed, size, now }).batches].flatMap(({ records }) => records);

function read({ kind, key, value, headers }: SampleRecord, offset: number) {
  const position = { partition: 0, offset, timestampMs: now.getTime() };
  const parsed = parse(kind, {
    key: Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    headers,
    position,
  });
  if ('rejected' in parsed) throw new Error(`${kind}: ${parsed.rejected.detail}`);
  return parsed.change;
}

/** What is left of each entity, as the contract folds it. */
function fold(records: SampleRecord[]) {
  const left = new Map<string, { kind: Kind; version: number; state: EntityState[Kind] | null }>();
  records.forEach((record, offset) => {
    const change = read(record, offset);
    const version = change.op === 'tombstone' ? 0 : change.version;
    if (version <= (left.get(change.id)?.version ?? 0)) return;
    left.set(change.id, { kind: record.kind, version, state: change.op === 'upsert' ? change.state : null });
  });
  const living = <K extends Kind>(kind: K) =>
    [...left.values()]
      .filter((one) => one.kind === kind && one.state)
      .map(({ state }) => state as EntityState[K]);
  const deleted = [...left.values()].filter(({ state }) => state === null).map(({ kind }) => kind);
  return { living, deleted };
}

describe('a desk of the usual size', () => {
  const sampleData = generateSampleData({ seed: 1, size: 'medium', now });
  const records = [...sampleData.batches].flatMap((batch) => batch.records);
  const { living, deleted } = fold(records);
  const valuesOf = <T>(values: T[]) => [...new Set(values)].toSorted();

  test('is as large as promised', () => {
    expect(living('ticket').length).toBeGreaterThan(2_000);
    expect(living('message').length).toBeGreaterThan(20_000);
    const threads = Map.groupBy(living('message'), ({ conversationId }) => conversationId);
    expect(Math.max(...[...threads.values()].map(({ length }) => length))).toBeGreaterThan(4_900);
    expect(new Set(sampleData.apiKeys.map(({ orgId }) => orgId)).size).toBe(3);
  });

  test('has channels of every type and provider, in every state, with every issue', () => {
    const channels = living('channel');
    const statuses = channels.map((channel) => channelStatus(channel, now));
    expect(valuesOf(channels.map(({ type }) => type))).toEqual(['chatbot', 'email', 'form']);
    expect(
      valuesOf(channels.flatMap((one) => (one.type === 'email' ? [one.config.provider] : []))),
    ).toHaveLength(3);
    expect(valuesOf(statuses.map(({ state }) => state))).toEqual(channelStates.toSorted());
    expect(valuesOf(statuses.flatMap(({ issues }) => issues))).toEqual(issueCodes.toSorted());
  });

  test('has tickets, conversations and messages of every status, role and type', () => {
    const conversations = living('conversation');
    expect(valuesOf(living('ticket').map(({ status }) => status))).toEqual(ticketStatuses.toSorted());
    expect(valuesOf(conversations.map(({ status }) => status))).toEqual(conversationStatuses.toSorted());
    expect(valuesOf(conversations.map(({ role }) => role))).toEqual(['primary', 'side']);
    expect(valuesOf(living('message').map(({ role }) => role))).toEqual(messageRoles.toSorted());
    expect(valuesOf(living('message').map(({ type }) => type))).toEqual(messageTypes.toSorted());
    expect(valuesOf(living('message').map(({ author }) => author?.type ?? ''))).toHaveLength(4);
    expect(
      valuesOf(living('message').flatMap((one) => one.attachments.map(({ inline }) => inline))),
    ).toHaveLength(2);
  });

  test('has what may be absent, both absent and there', () => {
    const both = [false, true];
    expect(valuesOf(living('contact').map(({ email }) => email !== null))).toEqual(both);
    expect(valuesOf(living('topic').map(({ color }) => color !== null))).toEqual(both);
    expect(valuesOf(living('qa').map((one) => one.questionVariations.length > 0))).toEqual(both);
    expect(valuesOf(living('apiKey').map(({ archivedAt }) => archivedAt !== null))).toEqual(both);
    expect(valuesOf(living('ticket').map(({ estimatedScore }) => estimatedScore !== null))).toEqual(both);
  });

  test('has deleted entities, and tickets that refer to them', () => {
    const goneKinds: Kind[] = [
      'apiKey',
      'channel',
      'contact',
      'conversation',
      'message',
      'qa',
      'tag',
      'ticket',
      'user',
    ];
    expect(valuesOf(deleted)).toEqual(goneKinds);
    const contacts = new Set(living('contact').map(({ id }) => id));
    expect(living('ticket').some(({ requesterId }) => !contacts.has(requesterId))).toBe(true);
  });

  test('carries each API key as the hash of its token only', () => {
    const hashes = new Map(living('apiKey').map((key) => [key.tokenSha256, key]));
    const kafkaTopics = records.map(({ value }) => value ?? '').join('\n');
    for (const { token, state } of sampleData.apiKeys) {
      expect(token).toMatch(/^svc_(live|test)_[a-z0-9]{40}$/);
      const key = hashes.get(createHash('sha256').update(token).digest('hex'));
      expect([Boolean(key), Boolean(key?.archivedAt)]).toEqual([state !== 'deleted', state === 'archived']);
      expect(kafkaTopics).not.toContain(token);
    }
  });

  test('has nothing from the future, and addresses under reserved domains only', () => {
    const kafkaTopics = records.map(({ value }) => value ?? '').join('\n');
    const instants = kafkaTopics.matchAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g);
    for (const [instant] of instants) expect(Date.parse(instant)).toBeLessThanOrEqual(now.getTime() + 5_000);
    for (const [address] of kafkaTopics.matchAll(/[\w.]+@[\w.-]+/g))
      expect(address).toMatch(/(\.test|example\.(com|org))$/);
  });

  test('uses both content modes, and bears redelivery', () => {
    const modes = valuesOf(records.map(({ headers }) => headers['content-type']?.split(';')[0] ?? ''));
    expect(modes).toEqual(['', 'application/cloudevents+json', 'application/json']);
    expect(new Set(records.map((record) => JSON.stringify(record))).size).toBeLessThan(records.length);
  });
});

test('the same seed, size and now give the same desk, another seed another', () => {
  expect(recordsOf(7, 'small')).toEqual(recordsOf(7, 'small'));
  expect(recordsOf(8, 'small')).not.toEqual(recordsOf(7, 'small'));
});

test('batches stay small, however long a thread is', () => {
  for (const { records } of generateSampleData({ seed: 3, size: 'medium', now }).batches) {
    expect(records.length).toBeLessThan(600);
  }
});

test('a living desk goes on where it stands: valid records of rising versions, of new and known entities', () => {
  const sampleData = generateSampleData({ seed: 5, size: 'small', now });
  const versions = new Map<string, number>();
  const seen = new Set<Kind>();
  const follow = (records: SampleRecord[], offset: number) =>
    records.map((record) => {
      const change = read(record, offset);
      if (change.op !== 'tombstone') return { record, id: change.id, version: change.version };
      return { record, id: change.id, version: Infinity };
    });
  for (const { records } of sampleData.batches) {
    for (const { id, version } of follow(records, 0))
      versions.set(id, Math.max(version, versions.get(id) ?? 0));
  }
  const live = liveChanges(sampleData.state, () => now);
  for (let step = 0; step < 2_000; step++) {
    for (const { record, id, version } of follow(live.next().value, step)) {
      expect(version).toBe((versions.get(id) ?? 0) + 1);
      versions.set(id, version);
      seen.add(record.kind);
    }
  }
  expect(kinds.filter((kind) => seen.has(kind))).toEqual([
    'contact',
    'topic',
    'channel',
    'ticket',
    'conversation',
    'message',
  ]);
});
