import { errorMessage } from '../../shared/runtime/error-message.ts';

/** Everything that was started and must be stopped, in reverse order. */
export type Closers = {
  add: (name: string, close: () => Promise<unknown>) => void;
  /** Closes everything once. Reports a failure and closes the rest. */
  closeAll: (report: (line: string) => void) => Promise<void>;
};

export function createClosers(): Closers {
  const open: { name: string; close: () => Promise<unknown> }[] = [];
  return {
    add: (name, close) => void open.push({ name, close }),
    closeAll: async (report) => {
      for (let last = open.pop(); last; last = open.pop()) {
        try {
          await last.close();
        } catch (error) {
          report(`${last.name} could not be stopped: ${errorMessage(error)}`);
        }
      }
    },
  };
}
