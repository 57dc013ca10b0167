import { BSON } from 'mongodb';

const megabyte = 1024 * 1024;

/** A document of the store holds 16 MB; half of that is left for what is joined to an entity's own state. */
const ownBytesMax = 8 * megabyte;

/** No record below this comes to that: lists are bounded, so BSON takes little more than the JSON. */
const recordBytesLookedAt = megabyte;

/** Says so where an entity's state is too large to be stored; null where it is not. */
export function describeOversize(recordBytes: number, state: object): string | null {
  if (recordBytes <= recordBytesLookedAt) return null;
  const bytes = BSON.calculateObjectSize(state);
  if (bytes <= ownBytesMax) return null;
  return `data: takes ${bytes} bytes in the store, more than the ${ownBytesMax} that there is room for`;
}
