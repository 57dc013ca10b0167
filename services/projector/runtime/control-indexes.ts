import type { Db } from 'mongodb';
import { progressOf } from '../../../shared/store/progress.ts';
import { ensureDeadLetterIndexes } from '../dead-letters/collection.ts';

/** Creates the missing indexes of the control database. */
export async function ensureControlIndexes(control: Db): Promise<void> {
  await progressOf(control).createIndexes([{ name: 'completeTo', key: { generation: 1, completeTo: 1 } }]);
  await ensureDeadLetterIndexes(control);
}
