import { selected, type DeadLetterFilter } from '../../services/operations/dead-letters/select.ts';
import { deadLettersOf, type DeadLetter } from '../../shared/control/dead-letters.ts';
import { useOpened } from '../support/use-opened.ts';
import { openDatabases } from '../support/databases.ts';

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
