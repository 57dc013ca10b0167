import type { LogBeginning } from '../../../shared/control/generations.ts';

/** The findings that an acceptance is about. */
export type Acceptable = {
  /** The findings in words; empty if the operator has nothing to accept. */
  seen: string[];
  /** The first offsets of logs that have lost their first records. */
  beginnings?: LogBeginning[];
  /** Runs after the acceptance is stored, and ends the finding. It is safe to run again. */
  apply?: () => Promise<void>;
};
