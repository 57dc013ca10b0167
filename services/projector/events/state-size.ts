import { BSON } from 'mongodb';

const megabyte = 1024 * 1024;

/** MongoDB limits a document to 16 MB. Half of that is reserved for the joined fields. */
const stateBytesMax = 8 * megabyte;

/** Smaller records are not measured: lists are bounded, so BSON takes little more than JSON. */
const measuredBytesMin = megabyte;

/** Returns a description if the state of an entity is too large to be stored, otherwise null. */
export function describeOversize(recordBytes: number, state: object): string | null {
  if (recordBytes <= measuredBytesMin) return null;
  const bytes = BSON.calculateObjectSize(state);
  if (bytes <= stateBytesMax) return null;
  return `data: takes ${bytes} bytes in MongoDB, more than the limit of ${stateBytesMax}`;
}
