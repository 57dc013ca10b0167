import type { Envelope } from '../../../shared/documents/document.ts';

/** A channel whose conversations expire after `dataRetentionDays`, which is above 0. */
export type ExpiringChannel = { id: string; orgId: string; dataRetentionDays: number };

/** A conversation. Without `updatedAt`, a sweep has purged its state, but may not have refreshed its dependents. */
export type ExpiringConversation = Envelope & { updatedAt?: Date };

export type Orphan = Envelope & { conversationId: string };

/**
 * The reads of the sweep, each of one bounded page. Every read sees every acknowledged write. The sweep writes through
 * the engine's `Store`.
 */
export type SweepStore = {
  /** Channels after an id, in the order of their ids. */
  readChannels: (after: string) => Promise<ExpiringChannel[]>;
  /** Conversations of a channel after an id, in the order of their ids. */
  readConversations: (channel: ExpiringChannel, after: string) => Promise<ExpiringConversation[]>;
  /** Messages of these conversations that were created up to an instant, in no order. */
  readExpiredMessages: (orgId: string, conversationIds: string[], upTo: Date) => Promise<Envelope[]>;
  /** Which of these conversations have messages. */
  readWithMessages: (orgId: string, conversationIds: string[]) => Promise<Set<string>>;
  /** Messages that have waited for their conversation since an instant or earlier, in no order. */
  readOrphans: (upTo: Date) => Promise<Orphan[]>;
  /** Lets messages that have waited since `upTo` or earlier wait again, from `from` on. */
  waitAgain: (orphans: Orphan[], upTo: Date, from: Date) => Promise<void>;
  /** Which of these conversations dead letters name. */
  readInDeadLetters: (conversationIds: string[]) => Promise<Set<string>>;
  /** Erases the dead letters about conversations whose records were published up to an instant. */
  eraseDeadLetters: (conversationIds: string[], upTo: Date) => Promise<void>;
};
