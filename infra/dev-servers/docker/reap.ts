import { setTimeout as sleep } from 'node:timers/promises';
import { removeRun } from './engine.ts';

/**
 * Removes the containers of a run after its process has died. The second round finds a container that the engine was
 * still creating during the first.
 */
const secondRoundAfterMs = 5_000;

const [run = ''] = process.argv.slice(2);
await removeRun(run);
await sleep(secondRoundAfterMs);
await removeRun(run);
