import { readdirSync, readFileSync } from 'node:fs';
import type { MongoClient } from 'mongodb';
import { peakMegabytes } from '../support/memory.ts';

export type Usage = {
  seconds: number;
  processorSeconds: number;
  /** The processor time of MongoDB, or of the stand-in on this machine. */
  storeSeconds: number | null;
  /** The commands that MongoDB has run. Null on the stand-in, which counts none. */
  commands: number | null;
  /** The bytes that MongoDB has received and sent for its commands. Null on the stand-in. */
  bytes: number | null;
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
    const counters = mongo ? await readCounters(mongo) : null;
    return {
      seconds: performance.now() / 1_000,
      processorSeconds: processorSeconds(pid),
      ...(counters ?? standInSeconds()),
    };
  };
  const start = await read();
  await work();
  const end = await read();
  const differences = Object.entries(end).map(([name, value]) => [name, value - start[name as 'seconds']]);
  const used = Object.fromEntries(differences) as typeof end;
  return { storeSeconds: null, commands: null, bytes: null, ...used, peakMegabytes: peakMegabytes({ pid }) };
}

type Status = {
  extra_info?: { user_time_us: number; system_time_us: number };
  network?: Record<'numRequests' | 'physicalBytesIn' | 'physicalBytesOut', number>;
};

/** Reads the counters of MongoDB. Returns null for the stand-in, which has no counters. */
async function readCounters(mongo: MongoClient) {
  const { extra_info: used, network } = (await mongo.db('admin').command({ serverStatus: 1 })) as Status;
  if (!used || !network) return null;
  return {
    storeSeconds: (used.user_time_us + used.system_time_us) / 1_000_000,
    commands: network.numRequests,
    bytes: network.physicalBytesIn + network.physicalBytesOut,
  };
}

/** The processor time of the stand-in: FerretDB, and PostgreSQL with a process for each connection. */
function standInSeconds(): { storeSeconds?: number } {
  const isStandIn = (pid: string) => /^(postgres|ferretdb)$/.test(readOrEmpty(`/proc/${pid}/comm`).trim());
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && isStandIn(entry));
  if (pids.length === 0) return {};
  return { storeSeconds: pids.reduce((total, pid) => total + processorSeconds(pid), 0) };
}

/** Linux counts processor time in hundredths of a second. */
const ticksPerSecond = 100;

/** The processor time of a process and its ended children. */
function processorSeconds(pid: number | string): number {
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  // The second field is the name in parentheses, which may contain spaces. So the fields are split after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((total, ticks) => total + Number(ticks), 0) / ticksPerSecond;
}

/** Reads a file of /proc. Returns an empty text if the process has ended in the meantime. */
function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
