import type { Collection, Db, FindOptions } from 'mongodb';

/**
 * A key that an operator has blocked, in the control database. The block outlives switches of the generation, and takes
 * effect without a projector. A second block, of the key's token, outlives the key: another key may have the same
 * token.
 */
export type BlockedKey = {
  /** The id of the key; for the block of a token its hash. */
  _id: string;
  /** For the block of a token: the id of its key. */
  keyId?: string;
  orgId: string;
  /** By the store's clock. */
  at: Date;
  /** The operator: `OPERATOR`, or the system user and the host. */
  by: string;
  why: string;
};

export const blockedKeys = (control: Db): Collection<BlockedKey> => control.collection('blocked_keys');

/**
 * The id of the marker, a document that stays in the collection for good. Without the marker the collection was lost,
 * and with it which keys are blocked. The registry records that a marker exists (`hasBlocksMarker`). No key has this
 * id.
 */
export const blocksMarkerId = 'marker';

/** Creates the marker if it does not exist. It keeps who created it, when and why. */
export async function createBlocksMarker(
  control: Db,
  cause: Pick<BlockedKey, 'at' | 'by' | 'why'>,
): Promise<void> {
  const marker = { orgId: '', ...cause };
  await blockedKeys(control).updateOne({ _id: blocksMarkerId }, { $setOnInsert: marker }, { upsert: true });
}

/** Whether the marker exists. */
export const findBlocksMarker = async (control: Db, options: FindOptions = {}): Promise<boolean> =>
  (await blockedKeys(control).findOne({ _id: blocksMarkerId }, options)) !== null;
