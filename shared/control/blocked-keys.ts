import type { Collection, Db } from 'mongodb';

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
