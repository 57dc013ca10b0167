import { type Changes, facts, factsOf, gap } from '../../tests/support/facts.ts';
import type { Facts } from './facts.ts';
import { evaluateRules, verdictOf } from './findings.ts';

/** The facts of a service whose active generation has these changes. */
const active = (changes: Changes) => facts([factsOf(1, 'active', changes)]);
const foreignMember = {
  memberId: 'm',
  clientId: 'c',
  host: 'h',
  partitions: [],
  foreignBecause: 'follows another',
};
const sound = active({});
const withForeignMember = { ...sound, kafka: { ...sound.kafka, members: new Map([[1, [foreignMember]]]) } };

/** A fact that stops every projector of the served generation, the finding, and the beginning of the verdict. */
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
    stopped: withForeignMember,
    finding: { name: 'group' },
    sentence: 'Not well: another client is in',
  },
  {
    name: 'topics of another prefix',
    stopped: active({ otherTopics: 'the topics have another prefix' }),
    finding: { name: 'other-topics' },
    sentence: 'Not well: the topics have another prefix',
  },
])('$name is the verdict', ({ stopped, finding, sentence }) => {
  const findings = evaluateRules(stopped);
  expect(findings).toMatchObject([{ severity: 'bad', generation: 1, ...finding }]);
  const verdict = verdictOf(findings, stopped);
  expect(verdict.sentence.slice(0, sentence.length)).toBe(sentence);
});
