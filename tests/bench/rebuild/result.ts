import type { Goal } from '../goal.ts';
import type { Machine } from '../machine.ts';
import type { BacklogRun } from '../projecting/result.ts';
import type { Spread } from '../statistics.ts';
import type { RebuildName } from './names.ts';

/** A run beside the live side, with the times of the reader's requests before it and during it, in milliseconds. */
export type BesideRun = BacklogRun & { beforeMs: number[]; duringMs: number[] };

/** The size of documents and indexes of each generation. */
export type Disk = { servedMegabytes: number; buildMegabytes: number };

export type RebuildRun = BesideRun & {
  /** Records that the live side had not recorded as applied when the build was complete. */
  liveBehind: number;
  disk: Disk | null;
  /** The documents that `rebuild verify` compared, and its time. */
  verified: number;
  verifySeconds: number;
};

export type OneByOneRun = { events: number; seconds: number };

/** The runs of one round. */
export type Round = {
  'bulk-write': BacklogRun;
  'bulk-write-beside': BesideRun;
  projector: BacklogRun;
  rebuild: RebuildRun;
  'one-by-one': OneByOneRun;
};

export type RebuildRow = {
  name: RebuildName;
  title: string;
  records: number;
  recordsPerSecond: Spread | null;
  processorSecondsPerMillion: Spread | null;
  storeProcessorSecondsPerMillion: Spread | null;
  peakMegabytes: Spread | null;
  readerP99BeforeMs: Spread | null;
  readerP99DuringMs: Spread | null;
};

/** The content of the `--json` file. */
export type RebuildResult = {
  benchmark: 'rebuild';
  startedAt: string;
  quick: boolean;
  machine: Machine;
  rounds: Round[];
  rows: RebuildRow[];
  servedMegabytes: Spread | null;
  buildMegabytes: Spread | null;
  liveBehind: Spread | null;
  verifiedPerSecond: Spread | null;
  goals: Goal[];
};
