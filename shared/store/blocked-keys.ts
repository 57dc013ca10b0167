import type { Collection, Db } from 'mongodb';

/**
 * A key that an operator has blocked, in the control database: it outlives switches of the generation, and no projector
 * is needed for it to take effect.
 */
export type BlockedKey = {
  /** The key's id. */
  _id: string;
  orgId: string;
  /** By the store's clock. */
  at: Date;
  /** User and host. */
  by: string;
  why: string;
};

export const blockedKeys = (control: Db): Collection<BlockedKey> => control.collection('blocked_keys');
