import { readFileSync, readdirSync } from 'node:fs';
import { peakMegabytes } from '../support/memory.ts';

export type Usage = {
  seconds: number;
  /** Processor time of the process, and of every store on this machine: FerretDB and PostgreSQL, or `mongod`. */
  processorSeconds: number;
  /** Null if no store runs on this machine. */
  storeProcessorSeconds: number | null;
  /** The peak resident memory of the process since it started. */
  peakMegabytes: number;
};

/** Measures a process and the store while `work` runs. */
export async function measure({ pid }: { pid: number }, work: () => Promise<unknown>): Promise<Usage> {
  const read = () => ({ ms: performance.now(), processor: processorSeconds(pid), store: storeSeconds() });
  const before = read();
  await work();
  const after = read();
  return {
    seconds: (after.ms - before.ms) / 1_000,
    processorSeconds: after.processor - before.processor,
    storeProcessorSeconds: before.store === null || after.store === null ? null : after.store - before.store,
    peakMegabytes: peakMegabytes({ pid }),
  };
}

const storeNames = /^(postgres|ferretdb|mongod)$/;

function storeSeconds(): number | null {
  const pids = readdirSync('/proc').filter(
    (entry) => /^\d+$/.test(entry) && storeNames.test(readOrEmpty(`/proc/${entry}/comm`).trim()),
  );
  return pids.length === 0 ? null : sum(pids.map(processorSeconds));
}

/** Linux counts processor time in hundredths of a second. */
const ticksPerSecond = 100;

/** The processor time of a process and its ended children: PostgreSQL forks a process for each connection. */
function processorSeconds(pid: number | string): number {
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  // The name, in parentheses, may hold spaces: the fields are counted after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return sum(fields.slice(11, 15).map(Number)) / ticksPerSecond;
}

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

/** A process may end between being listed and being read. */
function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
