import { randomInt } from 'node:crypto';

/**
 * The revision of a write. It is random, because no other write of the document may have it: not after the document was
 * removed, nor after a fail-over has rolled the write back.
 */
export const newRevision = (): number => randomInt(1, 2 ** 48);
