import type { Db } from 'mongodb';
import { createExpectedBytes, type Reading, type Reply } from './expected-bytes.ts';
import { createReadBudget, type BudgetLimits } from './read-budget.ts';
import { StoreUnavailable } from './store-errors.ts';

/** How one request reads its generation's database, and what it holds of what it has read. */
export type StoreReader = {
  database: Db;
  /** Index entries that the store may look at for one page. */
  scanEntriesMax: number;
  /** Runs a read when its turn has come. */
  read: <T extends Reply>(reading: Reading, run: () => Promise<T>) => Promise<T>;
  /** Counts bytes that the request keeps in memory; the function it gives counts them off again. */
  hold: (bytes: number) => () => void;
  /** Counts these bytes, those of the answer's text, in place of all that the request held. */
  holdOnly: (bytes: number) => void;
  /** The answer has been taken, or its client has gone. */
  end: () => void;
};

export type OpenReader = (orgId: string, database: Db) => StoreReader;

/** Makes the reader of each request; together they stay within the limits. */
export function createReaders({
  scanEntriesMax,
  nowMs,
  ...limits
}: BudgetLimits & { scanEntriesMax: number; nowMs: () => number }): OpenReader {
  const budget = createReadBudget(limits);
  const expected = createExpectedBytes(nowMs);
  return (orgId, database) => {
    let holdings = new Set<object>();
    let held = 0;
    let isEnded = false;
    const change = (bytes: number) => {
      held += bytes;
      budget.count(orgId, bytes);
    };
    return {
      database,
      scanEntriesMax,
      read: async (reading, run) => {
        const bytes = expected.of(orgId, reading);
        await budget.enter(orgId, bytes);
        try {
          if (isEnded) throw new StoreUnavailable('the client has gone');
          const reply = await run();
          expected.saw(orgId, reading.kind, reply);
          return reply;
        } finally {
          budget.leave(orgId, bytes);
        }
      },
      hold: (bytes) => {
        if (isEnded) return () => undefined;
        const holding = {};
        holdings.add(holding);
        change(bytes);
        return () => {
          if (holdings.delete(holding)) change(-bytes);
        };
      },
      holdOnly: (bytes) => {
        holdings = new Set();
        if (!isEnded) change(bytes - held);
      },
      end: () => {
        isEnded = true;
        holdings = new Set();
        change(-held);
      },
    };
  };
}
