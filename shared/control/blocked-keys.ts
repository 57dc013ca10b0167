import type { Collection, Db } from 'mongodb';

/**
 * A key that an operator has blocked. The block is in the control database, so it survives a switch of the generation
 * and takes effect without a projector. A second block, of the key's token, survives the deletion of the key, because
 * another key may have the same token.
 */
export type BlockedKey = {
  /** The id of the key; for the block of a token, the hash of the token. */
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
