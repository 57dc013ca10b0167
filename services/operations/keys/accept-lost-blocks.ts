import type { Db } from 'mongodb';
import {
  type BlockedKey,
  createBlocksMarker,
  findBlocksMarker,
} from '../../../shared/control/blocked-keys.ts';
import { readRegistry } from '../../../shared/control/generations.ts';

/**
 * Accepts that the blocks of keys were lost: keys that are not blocked again work from then on. The marker keeps who
 * accepted it, when and why. Throws if the blocks are not lost.
 */
export async function acceptLostBlocks(
  control: Db,
  cause: Pick<BlockedKey, 'at' | 'by' | 'why'>,
): Promise<void> {
  if (await findBlocksMarker(control))
    throw new Error('the blocks of keys are not lost: nothing was changed');
  await createBlocksMarker(control, cause);
}

/** Whether the collection of blocked keys was lost, and with it which keys are blocked. */
export async function areBlocksLost(control: Db): Promise<boolean> {
  const registry = await readRegistry(control, { projection: { history: 0 } });
  return registry?.hasBlocksMarker === true && !(await findBlocksMarker(control));
}
