import { readFileSync } from 'node:fs';

export const mebibyte = 1_024 * 1_024;

type Process = { pid?: number | undefined };

const kilobytesOf = ({ pid }: Process, field: 'VmHWM' | 'VmRSS') =>
  Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

/** The peak resident memory of a process, in mebibytes, as the kernel counts it. */
export const peakMegabytes = (process: Process): number => kilobytesOf(process, 'VmHWM') / 1_024;

/** The resident memory of a process now, in bytes. */
export const residentBytes = (process: Process): number => kilobytesOf(process, 'VmRSS') * 1_024;
