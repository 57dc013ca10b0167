import { countsPipeline } from '../../services/operations/dead-letters/list.ts';
import { selected } from '../../services/operations/dead-letters/select.ts';
import type { DeadLetterFilter } from '../../services/operations/dead-letters/selection.ts';
import {
  type DeadLetter,
  deadLettersOf,
  ensureDeadLetterIndexes,
} from '../../shared/control/dead-letters.ts';
import { openDatabases } from '../support/databases.ts';
import { useOpened } from '../support/use-opened.ts';

const instants = ['09:59:59.999', '10:00:00.000', '10:59:59.999', '11:00:00.000', '11:00:00.001'];
const at = (time: string) => new Date(`2026-01-31T${time}Z`);

describe('the dead letters between two instants', () => {
  const opened = useOpened(openDatabases);
  beforeAll(async () => {
    const deadLetters = instants.map((time) => ({ _id: time, lastAt: at(time), truncated: null, bytes: 1 }));
    await deadLettersOf(opened.control).insertMany(deadLetters as unknown as DeadLetter[]);
  });
  it.each<[string, DeadLetterFilter, string[]]>([
    ['since an instant, inclusively', { since: at('10:00:00.000') }, instants.slice(1)],
    ['until an instant, exclusively', { until: at('11:00:00.000') }, instants.slice(0, 3)],
    ['since and until', { since: at('10:00:00.000'), until: at('11:00:00.000') }, instants.slice(1, 3)],
  ])('are those last stored %s', async (_, filter, expected) => {
    const found: string[] = [];
    for await (const ids of selected(opened.control, { filter, limit: 100 })) found.push(...ids);
    expect(found).toEqual(expected);
  });
});

describe('more dead letters than one chunk', () => {
  const opened = useOpened(openDatabases);
  it('are selected once each, in the order of their ids, up to the limit', async () => {
    const ids = Array.from({ length: 450 }, (_, index) => String(index).padStart(3, '0'));
    const deadLetters = ids.map((_id) => ({ _id, bytes: 1 }));
    await deadLettersOf(opened.control).insertMany(deadLetters as unknown as DeadLetter[]);
    const select = async (selection: Parameters<typeof selected>[1]) => {
      const chunks = await Array.fromAsync(selected(opened.control, selection));
      expect(Math.max(...chunks.map(({ length }) => length))).toBe(200);
      return chunks.flat();
    };
    expect(await select({ filter: {}, limit: 401 })).toEqual(ids.slice(0, 401));
    expect(await select({ ids: ids.toReversed() })).toEqual(ids);
  });
});

describe('the counts by topic and reason, which the console reads every few seconds', () => {
  const opened = useOpened(openDatabases);
  it.each<DeadLetterFilter>([{}, { topic: 't' }, { reason: 'bad_data' }, { topic: 't', reason: 'bad_data' }])(
    'read an index, and no dead letter: %j',
    async (filter) => {
      await ensureDeadLetterIndexes(opened.control);
      const one = { _id: `${JSON.stringify(filter)}`, topic: 't', reason: 'bad_data', bytes: 1 };
      await deadLettersOf(opened.control).insertOne(one as unknown as DeadLetter);
      const plan = JSON.stringify(
        await deadLettersOf(opened.control).aggregate(countsPipeline(filter)).explain('executionStats'),
      );
      // The tests' stand-in has other plans.
      if (plan.includes('totalDocsExamined')) expect(plan).toMatch(/"totalDocsExamined":0\b/);
    },
  );
});
