import { readFileSync } from 'node:fs';

export const mebibyte = 1_024 * 1_024;

type Process = { pid?: number | undefined };

function kilobytesOf({ pid }: Process, field: 'VmHWM' | 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const found = new RegExp(`${field}:\\s+(\\d+) kB`).exec(status);
  return Number(found?.[1]);
}

/** The peak resident memory of a process, in mebibytes, as the kernel counts it. */
export const peakMegabytes = (process: Process): number => kilobytesOf(process, 'VmHWM') / 1_024;

/** The resident memory of a process now, in bytes. */
export const residentBytes = (process: Process): number => kilobytesOf(process, 'VmRSS') * 1_024;
