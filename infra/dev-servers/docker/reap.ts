import { setTimeout as delay } from 'node:timers/promises';
import { containersOfRun, removeContainers } from './engine.ts';

/**
 * The last will of a run in Docker: removes its containers once the run's process has died. A container whose
 * creation the engine was asked for a moment before the death appears after it, hence the second round.
 */
const secondRoundAfterMs = 5_000;

const [run = ''] = process.argv.slice(2);
await removeContainers(await containersOfRun(run));
await delay(secondRoundAfterMs);
await removeContainers(await containersOfRun(run));
