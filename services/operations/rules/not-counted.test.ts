import { facts, factsOf, report } from '../../../tests/support/facts.ts';
import { blockingFindings, evaluateRules } from '../findings.ts';

test('dead letters that MongoDB refuses to count prevent a promotion only if they are those of the build', () => {
  const build = factsOf(2, 'ready', { rejectCount: null, generation: { report } });
  const all = evaluateRules(
    facts([factsOf(1, 'active'), build], { deadLetters: null, deadLetterBytesFilled: null }),
  );
  expect(blockingFindings(all, 2, 'promote')).toMatchObject([
    { name: 'rejects', text: 'MongoDB refuses to count its dead letters' },
  ]);
  expect(all.filter(({ generation }) => generation === null)).toEqual([]);
});
