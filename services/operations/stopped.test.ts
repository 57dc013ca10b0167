import { type Changes, facts, factsOf, gap } from '../../tests/support/facts.ts';
import type { Facts } from './facts.ts';
import { evaluateRules, verdictOf } from './findings.ts';

const active = (changes: Changes) => facts([factsOf(1, 'active', changes)]);
const foreign = {
  memberId: 'm',
  clientId: 'c',
  host: 'h',
  partitions: [],
  foreignBecause: 'follows another',
};
const activeFacts = active({});
const shared = { ...activeFacts, kafka: { ...activeFacts.kafka, members: new Map([[1, [foreign]]]) } };

/** A fact that stops every projector of the served generation, the finding, and the verdict. */
test.each<{ name: string; stopped: Facts; finding: object; sentence: string }>([
  {
    name: 'a gap in the log',
    stopped: active({ gaps: [gap] }),
    finding: { name: 'projectors', isFinal: true, fix: 'npx support-cli rebuild start' },
    sentence:
      'Not well: no projector can continue since 2026-11-24T11:59:59.000Z, because its log has a gap: t/0: the records ' +
      'from offset 3 to 7 are gone from the log',
  },
  {
    name: 'a foreign member in its group',
    stopped: shared,
    finding: { name: 'group' },
    sentence: 'Not well: another client is in',
  },
  {
    name: 'topics of another prefix',
    stopped: active({ otherTopics: 'no' }),
    finding: { name: 'other-topics' },
    sentence: 'Not well: no',
  },
])('$name is the verdict', ({ stopped, finding, sentence }) => {
  const all = evaluateRules(stopped);
  expect(all).toMatchObject([{ severity: 'bad', generation: 1, ...finding }]);
  expect(verdictOf(all, stopped).sentence.startsWith(sentence)).toBe(true);
});
