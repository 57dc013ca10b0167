import { setFlagsFromString } from 'node:v8';

/**
 * Has V8 collect the old generation when it has grown by 60 % over what is alive. By default it sizes the heap by the
 * memory of the machine, and on a large one keeps some hundred megabytes of garbage. To be called at the start.
 */
export function boundHeapGrowth(): void {
  setFlagsFromString('--heap-growing-percent=60');
}

/**
 * Keeps the young generation as small as it is at the start, too. On a backlog: 219 MB resident at most in place of 455,
 * for an eighth more processor time. It is not for the API, whose requests would cost half as much again.
 */
export function boundYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}
