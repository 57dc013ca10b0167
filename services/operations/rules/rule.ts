import type { AcceptableFinding } from '../../../shared/control/generations.ts';
import type { Commands } from '../deployment.ts';
import type { Facts } from '../facts.ts';

/** A step that an operator takes with a generation: `rebuild await`, `rebuild promote` and `rebuild rollback`. */
export type Step = 'ready' | 'promote' | 'rollback';

export const everyStep: readonly Step[] = ['ready', 'promote', 'rollback'];
/** The steps that change which generation is served. */
export const switches: readonly Step[] = ['promote', 'rollback'];

/**
 * `bad`: customers get old data or no data. `attention`: customers still get current data. `progress`: expected at this
 * stage.
 */
export type Severity = 'bad' | 'attention' | 'progress';

/** A finding of a rule, which takes the rest from the rule. */
export type RuleFinding = {
  text: string;
  fix?: string | null;
  severity?: Severity;
  blocks?: readonly Step[];
  isFinal?: boolean;
  acceptAs?: AcceptableFinding;
  isAccepted?: boolean;
};

/** A rule about the system, or about one generation. */
export type Rule<About> = {
  severity: Severity;
  blocks: readonly Step[];
  /** The name under which an operator may accept it. */
  acceptAs?: AcceptableFinding;
  /** The text of a rule that passes, for a list of checks. */
  passes?: string;
  /** Null if the rule passes. A plain text takes all other fields from the rule. */
  evaluate: (
    facts: Facts,
    about: About,
    commands: Commands,
  ) => RuleFinding | string | (RuleFinding | string)[] | null;
};
