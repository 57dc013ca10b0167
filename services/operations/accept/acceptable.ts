import type { LogBeginning } from '../../../shared/control/generations.ts';

/** The present faults that an acceptance would cover. */
export type Acceptable = {
  /** The faults in words; empty if the operator has nothing to accept. */
  seen: string[];
  /** The new beginnings of logs that have lost their first records. */
  beginnings?: LogBeginning[];
  /** The change that ends the finding. It runs after the acceptance is stored, and is safe to run again. */
  apply?: () => Promise<void>;
};
