import type { Commands } from '../deployment.ts';
import type { Check } from './checks.ts';
import type { Measured } from './measure.ts';
import { rejectsText } from './texts.ts';

/** The command with which an operator continues, and the reason for it. */
export type NextStep = { command: string; why: string };

type Progress = Pick<Measured, 'number' | 'state' | 'condition' | 'stopped' | 'savedAt' | 'rejectCount'>;

/**
 * The next command for a generation; null if there is nothing to do. `checks` are those of a promotion or a rollback;
 * null if they were not made. `build` is the number of the build in progress; null if there is none.
 */
export function nextStep(
  commands: Commands,
  generation: Progress,
  checks: Check[] | null,
  build: number | null,
): NextStep | null {
  const { number, state, condition, stopped, savedAt, rejectCount } = generation;
  const verb = (words: string, why: string): NextStep => ({ command: `${commands.cli} ${words}`, why });
  const projector = (why: string): NextStep => ({ command: commands.projector(number), why });
  if (state === 'dropping') return verb(`rebuild drop ${number}`, 'the drop is not finished');
  if (stopped?.isFinal)
    return state !== 'active'
      ? verb(`rebuild drop ${number}`, 'it cannot continue')
      : build === null
        ? verb('rebuild start', 'the active generation cannot continue')
        : verb(
            `rebuild await ${build}`,
            'the active generation cannot continue, and this build can replace it',
          );
  if (stopped) return projector('no projector follows it');
  if (!savedAt) return projector('no projector has run on it yet');
  if (condition === 'failing') return verb('dead-letters list', rejectsText(rejectCount));
  switch (state) {
    case 'building':
    case 'catching-up':
      return verb(`rebuild await ${number}`, 'it is not ready yet');
    case 'ready':
      return promotion(verb, number, checks);
    case 'standby':
      return verb(
        `rebuild rollback ${number}`,
        'only if the active generation is wrong: this one is served again',
      );
    case 'active':
    case 'dropped':
      return null;
  }
}

function promotion(
  verb: (words: string, why: string) => NextStep,
  number: number,
  checks: Check[] | null,
): NextStep {
  const failed = checks?.filter(({ isMet }) => !isMet) ?? [];
  if (failed.some(({ name }) => name === 'compared'))
    return verb(`rebuild compare ${number}`, 'a promotion needs a valid comparison without differences');
  if (!checks || failed[0])
    return verb(`rebuild promote ${number} --dry-run`, failed[0]?.detail ?? 'its checks are not known yet');
  return verb(`rebuild promote ${number}`, 'every check holds');
}
