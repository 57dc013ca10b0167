import type { AcceptableFinding } from '../../../shared/control/generations.ts';
import type { Commands } from '../deployment.ts';
import type { Facts } from '../facts.ts';
import type { GenerationFacts } from '../generation-facts.ts';

/** A step that an operator takes with a generation: `rebuild await`, `rebuild promote` and `rebuild rollback`. */
export type OperatorStep = 'ready' | 'promote' | 'rollback';

export const everyStep: readonly OperatorStep[] = ['ready', 'promote', 'rollback'];
/** The steps that change which generation is served. */
export const switches: readonly OperatorStep[] = ['promote', 'rollback'];

/**
 * `bad`: customers get old data or no data. `attention`: customers still get current data. `progress`: expected at this
 * stage.
 */
export type Severity = 'bad' | 'attention' | 'progress';

/** The facts of the active generation; undefined before a projector has first started. */
export const activeOf = ({ registry, generations }: Facts): GenerationFacts | undefined =>
  generations.find(({ generation }) => generation.number === registry?.generation);

/** The result of a failed rule. An absent field takes its value from the rule. */
export type RuleFinding = {
  text: string;
  fix?: string | null;
  severity?: Severity;
  blocks?: readonly OperatorStep[];
  isFinal?: boolean;
  acceptAs?: AcceptableFinding;
  isAccepted?: boolean;
};

/** A rule about the system, or about one generation. */
export type Rule<About> = {
  severity: Severity;
  blocks: readonly OperatorStep[];
  /** The name under which an operator may accept its finding. */
  acceptAs?: AcceptableFinding;
  /** The line of the console's list of checks if the rule passes. */
  passes?: string;
  /** Returns null if the rule passes. A plain text is a finding with the severity and the steps of the rule. */
  evaluate: (
    facts: Facts,
    about: About,
    commands: Commands,
  ) => RuleFinding | string | (RuleFinding | string)[] | null;
};
