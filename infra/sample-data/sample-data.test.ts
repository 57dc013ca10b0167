import { parse } from '../../services/projector/events/parse.ts';
import { projections } from '../../services/projector/projections/projections.ts';
import { type EntityState, kinds } from '../../shared/documents/resources.ts';
import { consumed } from '../../tests/support/engine.ts';
import type { SampleRecord } from './encode.ts';
import { liveChange, newTicket } from './live-changes.ts';
import { keyLines } from './organization.ts';
import { batchesOf, generateSampleData, recordsOf } from './sample-data.ts';

const now = new Date('2026-03-04T05:06:07.089Z');

function read(record: SampleRecord, offset: number) {
  const position = { partition: 0, offset, timestampMs: now.getTime() };
  const parsed = parse(record.kind, consumed(record, position));
  if ('rejected' in parsed) throw new Error(`${record.kind}: ${parsed.rejected.detail}`);
  return parsed.change;
}

/** The kind and the id of each entity that a record names. */
function referencesOf(record: SampleRecord, offset: number): string[] {
  const change = read(record, offset);
  if (change.op !== 'upsert') return [];
  const state = change.state as EntityState['conversation'];
  const references: string[] = [];
  for (const edge of projections[record.kind].edges) {
    if (edge.type === 'owner') references.push(`${edge.to} ${String(state[edge.parentField as 'id'])}`);
    if (edge.type !== 'reference') continue;
    for (const id of edge.ids(state as never)) references.push(`${edge.to} ${id}`);
  }
  return references;
}

test('sample data and live changes are valid records that refer only to published entities', () => {
  const sampleData = generateSampleData({ seed: 5, size: 'small', now });
  const { state } = sampleData;
  const records = [...batchesOf(sampleData)].flatMap((batch) => batch.records);
  for (let step = 0; step < 2_000; step += 1) {
    for (const event of liveChange(state, now)) records.push(...recordsOf(state.random, event));
  }
  const published = new Set(records.map(({ kind, key }) => `${kind} ${key}`));
  const named = records.flatMap(referencesOf);
  expect(new Set(records.map(({ kind }) => kind))).toEqual(new Set(kinds));
  expect(named.length).toBeGreaterThan(5_000);
  expect(named.filter((reference) => !published.has(reference))).toEqual([]);
  const values = records.map(({ value }) => value).join();
  for (const { token } of sampleData.apiKeys) expect(values).not.toContain(token);
});

test('live changes continue the latest 300 conversations', () => {
  const size = { tickets: 700, contacts: 30, longestConversation: 5 };
  const { events, state } = generateSampleData({ seed: 5, size, now });
  const tickets = new Set<string>();
  for (const event of events) {
    if (event.kind !== 'ticket') continue;
    if (event.op === 'deleted') tickets.delete(event.id);
    else tickets.add(event.id);
  }
  const kept = () => state.conversations.map(({ ticket }) => ticket.state.id);
  expect(kept()).toEqual([...tickets].slice(-300));
  const opened = newTicket(state, now).find(({ kind }) => kind === 'ticket')?.id;
  expect({ count: kept().length, last: kept().at(-1) }).toEqual({ count: 300, last: opened });
});

test('a sample key has a rate limit only if its name says so', () => {
  const limits = new Set<string>();
  const size = { tickets: 0, contacts: 30, longestConversation: 1 };
  for (let seed = 1; seed <= 20; seed += 1) {
    const { events, apiKeys } = generateSampleData({ seed, size, now });
    for (const { kind, data } of events) {
      if (kind === 'apiKey' && data) limits.add(`${String(data['name'])}: ${String(data['rateLimit'])}`);
    }
    const tokenOf = (wanted: string) => apiKeys.find(({ name }) => name === wanted)?.token;
    expect(keyLines(apiKeys)).toEqual([
      `API key: ${tokenOf('Reporting')}`,
      `API key of 20 requests a window: ${tokenOf('Limited to 20 requests')}`,
    ]);
  }
  expect([...limits].sort()).toEqual([
    'Data warehouse: null',
    'Former reporting: null',
    'Limited to 20 requests: 20',
    'Mistake: null',
    'Reporting: null',
  ]);
});
