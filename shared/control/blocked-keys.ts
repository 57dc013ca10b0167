import type { Collection, Db } from 'mongodb';

/**
 * A key that an operator has blocked, in the control database. The block outlives switches of the generation, and takes
 * effect without a projector.
 */
export type BlockedKey = {
  /** The key's id. */
  _id: string;
  orgId: string;
  /** By the store's clock. */
  at: Date;
  /** The operator: `OPERATOR`, or the system user and the host. */
  by: string;
  why: string;
};

export const blockedKeys = (control: Db): Collection<BlockedKey> => control.collection('blocked_keys');
