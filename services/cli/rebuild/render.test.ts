import { facts } from '../../../tests/support/facts.ts';
import { commandsIn } from '../../operations/deployment.ts';
import type { Finding } from '../../operations/findings.ts';
import { renderComparison, renderHistory, renderStarted, renderSwitched } from './render.ts';

const switched = { generation: 2, outcome: 'promoted' as const, findings: [], waiting: [] };

test('the output after the start of a rebuild names the next commands of the deployment', () => {
  const lines = renderStarted(commandsIn.compose, 2).split('\n');
  expect(lines.slice(1, 4)).toEqual([
    '  docker compose run --detach --env GENERATION=2 projector',
    'Then wait until it is ready, compare it, and promote it:',
    '  docker compose run --rm cli rebuild await 2',
  ]);
});

describe('a value with a line end stays on its line:', () => {
  const id = 'ti_1\n  ticket ti_2  missing';
  const shown = 'ti_1\\u000a  ticket ti_2  missing';
  const samples = [{ kind: 'ticket', id, class: 'joined', field: 'joined.requester' } as const];
  const found = { compared: 1, differing: 1, differences: 1, expected: 0 };
  const result = { ...found, counts: {}, samples, isCutShort: false };

  test('the id of a document that differs', () => {
    const text = renderComparison(1, result);
    expect(text.split('\n').slice(1)).toEqual([`  ticket ${shown}  joined joined.requester`, '']);
  });

  test('the reason of a change', () => {
    const at = new Date('2026-11-01');
    const change = { at, generation: 1, from: null, to: 'active', by: 'ann', why: 'a\nb' } as const;
    expect(renderHistory([change])).toMatch(/^2026-11-01T.*  by ann: a\\u000ab\n$/);
  });
});

describe('the outcome of a promotion', () => {
  test('names the replicas that do not serve the generation yet', () => {
    for (const outcome of ['promoted', 'was-active'] as const)
      expect(renderSwitched({ ...switched, outcome })).toBe('generation 2 is served\n');
    const text = renderSwitched({ ...switched, waiting: facts([]).replicas });
    expect(text).toContain('generation 2 is active; some replicas do not serve it yet\n');
    expect(text).toContain('the API replica (process 1 on h), release 1, still serves generation 1: ');
  });

  test('shows whether the operator accepted a finding or it prevents the switch', () => {
    const finding = (name: Finding['name'], text: string, changes: Partial<Finding> = {}): Finding => ({
      ...{ name, text, generation: 2, severity: 'progress', blocks: ['promote'], acceptAs: null },
      ...{ accept: null, isAccepted: false, isFinal: false, fix: 'cli rebuild compare 2', ...changes },
    });
    const findings = [
      finding('offsets', '3 partitions lag', { isAccepted: true, fix: null }),
      finding('compared', 'not compared'),
      finding('freshness', 'its data is older', { accept: 'cli accept older 2' }),
    ];
    expect(renderSwitched({ ...switched, outcome: 'refused', findings }).split('\n')).toEqual([
      '  accepted   3 partitions lag',
      '  FAILED     not compared',
      '             cli rebuild compare 2',
      '  FAILED     its data is older',
      '             cli rebuild compare 2',
      '             or accept it: cli accept older 2',
      'generation 2 is not served: nothing was changed',
      '',
    ]);
  });
});
