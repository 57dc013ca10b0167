import { before, type Changes, facts, factsOf, safeTopic } from '../../tests/support/facts.ts';
import { matching } from '../../tests/support/matchers.ts';
import { blockingFindings, evaluateRules, passedChecks } from './findings.ts';

const active = factsOf(1, 'active');
const olderAccepted = {
  finding: 'older' as const,
  at: before(599),
  by: 'ann',
  why: 'an emergency',
  seen: [],
};

test('a lag prevents nothing while Kafka keeps the tombstones', () => {
  const prevented = (hours: number) => {
    const generation = { longestBehindSeconds: hours * 3_600, accepted: [olderAccepted] };
    const settings = [{ ...safeTopic, deleteRetentionMs: 168 * 3_600_000 }];
    const factsWithLag = facts([active, factsOf(2, 'standby', { generation })], {
      kafka: { ...facts([]).kafka, settings },
    });
    return blockingFindings(evaluateRules(factsWithLag), 2, 'rollback').map(({ name }) => name);
  };
  // The longest lag may be a tenth longer than the recorded one.
  expect([prevented(152), prevented(153)]).toEqual([[], ['tombstones']]);
});

test('an acceptance of older data is valid for ten minutes', () => {
  const factsWithOlderData = (generation: Changes['generation'] = {}) =>
    facts([
      active,
      factsOf(2, 'ready', {
        watermark: before(60),
        generation: { accepted: [olderAccepted], ...generation },
      }),
    ]);
  const prevented = (generation: Changes['generation']) =>
    blockingFindings(evaluateRules(factsWithOlderData(generation)), 2, 'promote').map(({ name }) => name);
  const all = evaluateRules(factsWithOlderData());
  expect(prevented({})).toEqual(['compared']);
  expect(prevented({ accepted: [{ ...olderAccepted, at: before(601) }] })).toEqual(['freshness', 'compared']);
  expect(prevented({ since: before(0) })).toEqual(['freshness', 'compared']);
  expect(prevented({ accepted: [{ ...olderAccepted, finding: 'truncated' }] })).toEqual([
    'freshness',
    'compared',
  ]);
  expect(
    evaluateRules(factsWithOlderData({ accepted: [] })).find(({ name }) => name === 'freshness')?.accept,
  ).toBe('npx support-cli accept older 2 --why <reason>');
  expect(passedChecks(all, 2, 'promote').filter(({ isAccepted }) => isAccepted)).toMatchObject([
    { text: matching(/^its watermark .* is .* older/) },
  ]);
});
