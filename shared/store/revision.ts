import { randomInt } from 'node:crypto';

/**
 * The revision of a write. It is random, so that no other write of the document has the same one, even after a removal
 * of the document or a fail-over that rolls the write back.
 */
export const newRevision = (): number => randomInt(1, 2 ** 48);
