import { readFileSync } from 'node:fs';

/** The most memory that a process has ever held, in megabytes, as the kernel counts it. */
export function peakMegabytes({ pid }: { pid?: number | undefined }): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_024;
}
