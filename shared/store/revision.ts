import { randomInt } from 'node:crypto';

/**
 * Returns the revision of a write: a random number, so no two writes of a document have the same revision, even if the
 * document was removed or a fail-over has rolled a write back.
 */
export const newRevision = (): number => randomInt(1, 2 ** 48);
