import type { LogBeginning } from '../../../shared/control/generations.ts';

/** The findings that an acceptance is about. */
export type Acceptable = {
  /** The findings in words; none if there is nothing to accept. */
  seen: string[];
  /** Where logs begin whose first records are gone. */
  beginnings?: LogBeginning[];
  /** Ends the finding, once the acceptance is stored. It may run again. */
  apply?: () => Promise<void>;
};
