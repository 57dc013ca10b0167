import { listDeadLetters } from '../../services/operations/dead-letters/list.ts';
import { readSelected } from '../../services/operations/dead-letters/select.ts';
import type { DeadLetterFilter, Selection } from '../../services/operations/dead-letters/selection.ts';
import { recordId, rejectRecords, spanIdOf } from '../../shared/control/ledger.ts';
import { changeSpans, ensureDeadLetterIndexes } from '../../shared/control/ledger-store.ts';
import { recordBytesOf, sizesPipeline } from '../../shared/control/record-bytes.ts';
import { openDatabases } from '../support/databases.ts';
import { addToLedger } from '../support/dead-letters.ts';
import { useOpened } from '../support/use-opened.ts';

const topic = 'support.tags';
const config = { TOPIC_PREFIX: 'support.' };
const rejection = { reason: 'not_json', detail: 'value: must be JSON' } as const;
const recordAt = (offset: number) => ({ topic, partition: 0, offset, timestampMs: 1, ...rejection });
const instants = ['09:59:59.999', '10:00:00.000', '10:59:59.999', '11:00:00.000', '11:00:00.001'];
const at = (time: string) => new Date(`2026-01-31T${time}Z`);

describe('a selection of dead letters between two times', () => {
  const opened = useOpened(openDatabases);
  beforeAll(async () => {
    for (const [offset, time] of instants.entries())
      await addToLedger(opened.control, recordAt(offset), [1], at(time));
  });
  const since = at('10:00:00.000');
  const until = at('11:00:00.000');
  test.each<{ name: string; filter: DeadLetterFilter; expected: number[] }>([
    { name: 'since an instant, inclusively', filter: { since }, expected: [1, 2, 3, 4] },
    { name: 'until an instant, exclusively', filter: { until }, expected: [0, 1, 2] },
    { name: 'since and until', filter: { since, until }, expected: [1, 2] },
  ])('has the dead letters that were last rejected $name', async ({ filter, expected }) => {
    const chunks = await Array.fromAsync(readSelected(opened.control, { filter, limit: 100 }));
    expect(chunks.flat().map(({ offset }) => offset)).toEqual(expected);
    const listed = await listDeadLetters({ ...opened, config }, filter, 100);
    expect(listed.deadLetters.map(({ offset }) => offset)).toEqual(expected.toReversed());
    expect(listed.total).toBe(expected.length);
  });
});

describe('a selection of more dead letters than one chunk', () => {
  const opened = useOpened(openDatabases);
  test('has each dead letter once in the order of the log up to the limit', async () => {
    const offsets = Array.from({ length: 450 }, (_, index) => 20 * index);
    for (const offset of offsets) await addToLedger(opened.control, recordAt(offset), [1]);
    const select = async (selection: Selection) => {
      const chunks = await Array.fromAsync(readSelected(opened.control, selection));
      expect(Math.max(...chunks.map(({ length }) => length))).toBe(200);
      return chunks.flat().map(({ offset }) => offset);
    };
    expect(await select({ filter: {}, limit: 401 })).toEqual(offsets.slice(0, 401));
    const ids = offsets.map((offset) => recordId(recordAt(offset)));
    expect(await select({ ids: ids.toReversed() })).toEqual(offsets);
  });
});

describe('100,000 dead letters', () => {
  const opened = useOpened(openDatabases);
  test('are counted and the latest ones are listed from about twenty documents', async () => {
    await ensureDeadLetterIndexes(opened.control);
    const offsets = Array.from({ length: 100_000 }, (_, offset) => offset);
    const bySpan = Map.groupBy(offsets, (offset) => spanIdOf(recordAt(offset)));
    await changeSpans(opened.control, bySpan.keys(), (span) => {
      const records = (bySpan.get(span._id) ?? []).map(recordAt);
      rejectRecords(span, records, { generation: 1, now: new Date() });
    });
    const commands: string[] = [];
    opened.mongo.on('commandStarted', ({ commandName }) => commands.push(commandName));
    const latest = await listDeadLetters({ ...opened, config }, {}, 50);
    expect(latest).toMatchObject({ total: 100_000, counts: [{ topic, reason: 'not_json', count: 100_000 }] });
    expect(latest.deadLetters).toHaveLength(50);
    expect(commands.length).toBeLessThan(10);
  });
});

describe('the size of the stored bytes of each topic', () => {
  const opened = useOpened(openDatabases);
  test('is read from an index without reading documents', async () => {
    await ensureDeadLetterIndexes(opened.control);
    await recordBytesOf(opened.control).insertOne({ _id: 'one', topic, size: 1 } as never);
    const explained = await recordBytesOf(opened.control).aggregate(sizesPipeline).explain('executionStats');
    const plan = JSON.stringify(explained);
    const counts = plan.match(/totalDocsExamined/g) ?? [];
    const zeros = plan.match(/"totalDocsExamined":0\b/g) ?? [];
    // The plan of the stand-in has no count.
    expect(zeros).toHaveLength(counts.length);
  });
});
