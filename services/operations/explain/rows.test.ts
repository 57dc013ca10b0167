import type { ExplainedDocument } from './explanation.ts';
import { documentRows } from './rows.ts';

const now = '2026-01-01T00:01:30.000Z';
const document = {
  generation: 2,
  generationState: 'standby',
  orgId: null,
  status: 'living',
  servedUntil: now,
  partition: { position: 3, end: 10, completeTo: '2026-01-01T00:00:00.000Z' },
  fanOut: { from: 'ticket', edge: 'tags', after: 'ti_5' },
  outdated: null,
  differsFromActive: [],
} as unknown as ExplainedDocument;

test('the rows of a document name its place, its age, and the work that is left', () => {
  expect(documentRows(document, now)).toEqual([
    ['generation', '2, a generation that is standby'],
    ['organization', 'unknown'],
    ['status', 'living'],
    ['retention', `expired at ${now}: the API answers 404`],
    ['partition', 'complete up to 2026-01-01T00:00:00.000Z (90 s ago), 7 records to apply'],
    ['fan-out', 'in progress: ticket after ti_5'],
    ['fresh join', 'not checked: another release joins the documents of this generation'],
    ['vs active', 'no difference'],
  ]);
  const fields = { outdated: ['joined.tags'], differsFromActive: ['state.title', 'version'] };
  expect(documentRows({ ...document, ...fields }, now).slice(-2)).toEqual([
    ['fresh join', 'differs in joined.tags'],
    ['vs active', 'state.title, version'],
  ]);
});
