import type { Column } from '../report.ts';

/** One run of one contender over a backlog. */
export type BacklogRun = {
  /** The consumed records. */
  records: number;
  /** Documents in the store afterwards; null if they were not counted. */
  documents: number | null;
  /** From the start of the process to the first record consumed; null if it was not measured. */
  startSeconds: number | null;
  /** From the first record consumed to the last one applied. */
  seconds: number;
  /** Processor time of the contender and of the store in that time. */
  processorSeconds: number;
  storeProcessorSeconds: number | null;
  /** The peak resident memory of the process since it started. */
  peakMegabytes: number;
};

const perMillion = (seconds: number | null, { records }: BacklogRun) =>
  seconds === null ? null : (seconds / records) * 1e6;
export const recordsPerSecond = ({ records, seconds }: BacklogRun) => records / seconds;
export const fromStart = ({ records, seconds, startSeconds }: BacklogRun) =>
  startSeconds === null ? null : records / (startSeconds + seconds);
export const processorPerMillion = (run: BacklogRun) => perMillion(run.processorSeconds, run);

/** The figures of a backlog, for a table. */
export const backlogColumns: Column<BacklogRun>[] = [
  { title: 'records', digits: 0, figure: ({ records }) => records },
  { title: 'records/s', digits: 0, figure: recordsPerSecond },
  { title: 'from process start', digits: 0, figure: fromStart },
  { title: 'processor s per million', digits: 0, figure: processorPerMillion },
  { title: 'of the store', digits: 0, figure: (run) => perMillion(run.storeProcessorSeconds, run) },
  { title: 'peak MB', digits: 0, figure: ({ peakMegabytes }) => peakMegabytes },
];
