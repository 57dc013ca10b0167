import type { Db } from 'mongodb';
import { progressOf } from '../../shared/runtime/generation.ts';
import { deadLettersOf } from './dead-letters/dead-letters.ts';

/** Creates the indexes of the control database that are absent. */
export async function ensureControlIndexes(control: Db): Promise<void> {
  await progressOf(control).createIndexes([{ name: 'completeTo', key: { generation: 1, completeTo: 1 } }]);
  await deadLettersOf(control).createIndexes([
    { name: 'time', key: { time: 1 } },
    { name: 'topic', key: { topic: 1, time: 1 } },
  ]);
}
