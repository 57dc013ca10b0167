import type { IndexName, Kind } from './resources.ts';

/**
 * The indexes that the reads of the API name in `hint`, by kind. Their presence also shows that a restore of the
 * collection is complete, because a restore builds indexes after the data.
 */
export const servedIndexes = {
  apiKey: ['token'],
  channel: ['created', 'typeCreated'],
  ticket: ['created', 'updated', 'statusCreated', 'statusUpdated'],
  conversation: ['ticket'],
  message: ['thread'],
  qa: ['created'],
} as const satisfies { [K in Kind]?: readonly IndexName<K>[] };

/** A kind that the API reads. */
export type ServedKind = keyof typeof servedIndexes;

export const servedKinds = Object.keys(servedIndexes) as ServedKind[];

/** The name of an index that the API's reads of a kind may name. */
export type ServedIndex<K extends ServedKind> = (typeof servedIndexes)[K][number];
