import { setFlagsFromString } from 'node:v8';

/**
 * Bounds how far V8 lets the heap grow over what is alive. By default it sizes the heap by the memory of the machine,
 * and on a large one keeps some 300 MB of garbage before it collects any. The young generation stays as large as it
 * is at the start, and the old one is collected when it has grown by 60 %. Measured on a backlog: 219 MB resident at
 * most in place of 455, for an eighth more processor time of this process.
 */
export function boundHeapGrowth(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=60');
}
