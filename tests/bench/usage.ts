import { readFileSync, readdirSync } from 'node:fs';
import type { MongoClient } from 'mongodb';
import { peakMegabytes } from '../support/memory.ts';

export type Usage = {
  seconds: number;
  processorSeconds: number;
  /** Of the MongoDB that is asked, else of every store on this machine; null if none runs on it. */
  storeProcessorSeconds: number | null;
  /** The commands that MongoDB has run, and the bytes that it has read and written for them; null if it is not asked. */
  traffic: { commands: number; bytes: number } | null;
  /** The peak resident memory of the process since it started. */
  peakMegabytes: number;
};

/** Measures a process and the store while `work` runs. */
export async function measure(
  { pid }: { pid: number },
  work: () => Promise<unknown>,
  mongo?: MongoClient,
): Promise<Usage> {
  const read = async () => {
    const asked = mongo ? await readStatus(mongo) : null;
    const store = asked ? asked.seconds : storeSeconds();
    return { ms: performance.now(), processor: processorSeconds(pid), store, asked };
  };
  const before = await read();
  await work();
  const after = await read();
  return {
    seconds: (after.ms - before.ms) / 1_000,
    processorSeconds: after.processor - before.processor,
    storeProcessorSeconds: before.store === null || after.store === null ? null : after.store - before.store,
    traffic: before.asked &&
      after.asked && {
        commands: after.asked.commands - before.asked.commands,
        bytes: after.asked.bytes - before.asked.bytes,
      },
    peakMegabytes: peakMegabytes({ pid }),
  };
}

type Status = {
  extra_info?: { user_time_us: number; system_time_us: number };
  network?: Record<'numRequests' | 'physicalBytesIn' | 'physicalBytesOut', number>;
};

/** The counters of MongoDB; null from the stand-in, which has none. */
async function readStatus(mongo: MongoClient) {
  const { extra_info: used, network } = (await mongo.db('admin').command({ serverStatus: 1 })) as Status;
  if (!used || !network) return null;
  return {
    seconds: (used.user_time_us + used.system_time_us) / 1_000_000,
    commands: network.numRequests,
    bytes: network.physicalBytesIn + network.physicalBytesOut,
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
