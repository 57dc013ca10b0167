/** The part of a stored document that presenters need. */
export type StateAndJoined<D extends { state: unknown; joined?: unknown }> = Pick<D, 'state' | 'joined'>;
