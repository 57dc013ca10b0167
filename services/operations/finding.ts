import type { Commands } from './deployment.ts';
import type { Facts } from './facts.ts';

/** A step that an operator takes with a generation: `rebuild await`, `rebuild promote` and `rebuild rollback`. */
export type Step = 'ready' | 'promote' | 'rollback';

/** Something that an operator should know, or do. */
export type Finding = {
  name: string;
  /** The generation that it is about; null for the whole system. */
  generation: number | null;
  /** `bad`: customers get old data, or none. `attention`: they do not, yet. `progress`: as it should be at this stage. */
  severity: 'bad' | 'attention' | 'progress';
  /** The steps that it prevents. */
  blocks: readonly Step[];
  /** The option that accepts it. `isWaived`: it fails, but the operator waived it. */
  waiver: string | null;
  isWaived: boolean;
  /** No projector can ever continue the generation: to wait does not help. */
  isFinal: boolean;
  text: string;
  /** The command that helps; null if there is none. */
  remedy: string | null;
};

export type Judged = {
  text: string;
  remedy?: string | null;
  severity?: Finding['severity'];
  blocks?: readonly Step[];
  isFinal?: boolean;
  isWaived?: boolean;
};

/** The commands that a remedy names, and the lag that counts as ready, in seconds. */
export type Context = Commands & { maxLagSeconds: number };

/** How a rule judges the system, or one generation: null if there is nothing to say. */
export type Rule<About> = {
  name: string;
  severity: Finding['severity'];
  blocks: readonly Step[];
  waiver?: string;
  /** The condition that holds without a finding, for a list of checks. */
  holds?: string;
  judge: (facts: Facts, about: About, context: Context) => Judged | Judged[] | null;
};
