import type { IndexName, Kind } from './resources.ts';

/**
 * The indexes that the reads of the API name in `hint`, by kind. The projector has filled a collection that has them,
 * or a restore has completed it: it builds the indexes after the data.
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
