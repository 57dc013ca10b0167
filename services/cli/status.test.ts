import { facts, factsOf, partitionFacts } from '../../tests/support/facts.ts';
import type { Counts } from '../operations/counts.ts';
import type { GenerationFacts } from '../operations/generation-facts.ts';
import { type Report, reportOf } from '../operations/report.ts';
import { checkExitCode, renderStatus } from './status.ts';

const partition = (lag: number | null, lagSeconds: number | null) => ({
  ...partitionFacts,
  topic: 'support.tags',
  position: 7,
  end: 9,
  lag,
  lagSeconds,
});
const status = (partitions: GenerationFacts['partitions'] = []): Report =>
  reportOf(facts([factsOf(1, 'active', { partitions })], { deadLetters: 7 }));
const counts: Counts = { documents: { tickets: 12_345 }, pending: { conversations: 3 }, notCounted: [] };

test('the status begins with the verdict and has a fix below each finding', () => {
  expect(renderStatus(status(), counts)).toBe(
    [
      'The data is current, but one finding needs attention.',
      '  attention  dead letters: 7',
      '             npx support-cli dead-letters list',
      '',
      'generation 1  active, lag 1 s, 0 records to apply',
      '',
      'pending  3 conversations',
      '',
      'documents  estimate',
      'tickets       12345',
      '',
    ].join('\n'),
  );
});

test('the status names the parts that were not counted without a change of the verdict', () => {
  const reason = 'not authorized';
  const tokens = { part: 'tokens of several keys', reason: 'operation exceeded time limit' };
  const uncounted = reportOf(
    facts([factsOf(1, 'active')], { sharedTokens: null, deadLetters: null, notCounted: [tokens] }),
  );
  expect(uncounted.sentence).toBe('All is well.');
  const pending = { conversations: null };
  const text = renderStatus(uncounted, {
    documents: null,
    pending,
    notCounted: [{ part: 'pending conversations', reason }],
  });
  expect(text).toContain(
    [
      'pending  conversations not counted',
      '',
      'not counted: tokens of several keys: operation exceeded time limit',
      '',
      `not counted: pending conversations: ${reason}`,
      '',
    ].join('\n'),
  );
  expect(renderStatus(status(), counts)).not.toContain('not counted');
});

test('status --check exits with code 1 if a finding needs attention', () => {
  const codes = (['well', 'attention', 'bad'] as const).map((verdict) => checkExitCode({ verdict }));
  expect(codes).toEqual([0, 1, 1]);
});

test('the status begins with the bad findings and the served generation', () => {
  const recreated = factsOf(2, 'active', { recreated: ['a'] });
  const text = renderStatus(reportOf(facts([factsOf(1, 'standby'), recreated], { deadLetters: 7 })), counts);
  expect(text.match(/^ {2}(bad +\S+ \d: a:|attention|next)|^generation \d {2}[\w ()]+/gm)).toEqual([
    '  bad        generation 2: a:',
    '  attention',
    'generation 2  stopped (active)',
    'generation 1  standby',
    '  next',
  ]);
});

test('the status lists the five partitions that lag most unless all are requested', () => {
  const lags = [32, 33, 34, 35, 36, 3].map((lagSeconds, number) => ({
    ...partition(2, lagSeconds),
    partition: number,
  }));
  const partitions = [...lags, { ...partition(null, null), partition: 6, cause: 'unreadable' as const }];
  const text = renderStatus(status(partitions), counts);
  expect(text.match(/tags\/\d/g)).toEqual(['tags/6', 'tags/4', 'tags/3', 'tags/2', 'tags/1']);
  expect(text).toMatch(/^support.tags\/6 +7 +9 +unknown +0 +unknown +a log cannot be read/m);
  expect(text).toMatch(/^support.tags\/4 +7 +9 +2 +0 +36 s +stands still$/m);
  expect(text).toContain('… and 1 further partition that lags: --partitions');
  expect(renderStatus(status(partitions), counts, true)).toMatch(
    /^support.tags\/5 +7 +9 +2 +0 +3 s +follows$/m,
  );
});

test('the status names the figures that are incomplete', () => {
  const pending = { conversations: 10_000 };
  const text = renderStatus(status(), { ...counts, pending });
  expect(text).toMatch(/^pending {2}10,?000 conversations or more$/m);
});
