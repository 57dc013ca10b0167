import type { Db } from 'mongodb';
import type { Document } from '../../../shared/documents/document.ts';
import type { ConversationDocument } from '../../../shared/documents/conversation.ts';
import type { MessageDocument } from '../../../shared/documents/message.ts';
import { sortKey } from '../../../shared/documents/instant.ts';
import { dayMs, keptUntil } from '../../../shared/documents/retention.ts';
import { collectionOf } from '../../../shared/runtime/mongo.ts';
import type { Lapse } from '../events/change.ts';
import { eraseLetters } from '../dead-letters/erase.ts';
import { applyChanges } from '../materialize/engine.ts';
import type { FanOutOptions } from '../materialize/fan-out.ts';

/** Conversations and messages removed at a time; bounds what a sweep holds in memory. */
const chunkSize = 500;

export type SweepOptions = FanOutOptions & {
  database: Db;
  control: Db;
  prefix: string;
  /** Up to this instant all that was published has been applied. */
  asOf: Date;
};

type Due = Pick<Document<never>, '_id' | 'orgId' | 'version' | 'lapsed'> & {
  joined?: Pick<ConversationDocument['joined'], 'channel'>;
};

/**
 * Removes the conversations whose retention has passed, and their messages that are as old. A message that is
 * younger stays until it is as old itself, since the update of its conversation may be on its way; so a lapsed
 * conversation is looked at again after as many days. Any number of projectors may sweep at once: each removal
 * is a guarded write. Gives the number of conversations removed.
 *
 * `asOf` must not lie ahead of the log: the update that prolongs a conversation may be published and not yet
 * applied, and what is removed in between does not come back with it.
 */
export async function sweep(options: SweepOptions): Promise<number> {
  const { database, asOf } = options;
  const conversations = collectionOf<ConversationDocument>(database, 'conversation');
  let removed = 0;
  for (;;) {
    const due = await conversations
      .find({ keptUntil: { $lte: asOf } })
      .project<Due>({ orgId: 1, version: 1, lapsed: 1, 'joined.channel': 1 })
      .sort({ keptUntil: 1 })
      .limit(chunkSize)
      .toArray();
    if (due.length === 0) return removed;
    // Those that have lapsed, too: a sweep may have died before it had told the ticket.
    await applyChanges(
      options,
      'conversation',
      due.map((one) => ({ op: 'lapse', id: one._id, version: one.version, days: daysOf(one) })),
    );
    removed += due.filter(({ lapsed }) => !lapsed).length;
    await eraseLetters(
      options,
      due.map((one) => ({
        kind: 'conversation',
        id: one._id,
        takes: ({ timestampMs }) => timestampMs <= asOf.getTime() - daysOf(one) * dayMs,
      })),
    );
    for (const one of due) {
      await sweepThread(options, one, asOf);
      // Only what has lapsed: one that came back meanwhile has a term of its own.
      const again = keptUntil(asOf, daysOf(one));
      await conversations.updateOne(
        { _id: one._id, lapsed: { $exists: true } },
        again ? { $set: { keptUntil: again } } : { $unset: { keptUntil: '' } },
      );
    }
  }
}

const daysOf = ({ lapsed, joined }: Due) => lapsed?.days ?? joined?.channel?.dataRetentionDays ?? 0;

async function sweepThread(options: SweepOptions, one: Due, asOf: Date): Promise<void> {
  const days = daysOf(one);
  // The first sort key behind those that are as old as the term.
  const byCreated = { $lt: sortKey(new Date(asOf.getTime() - days * dayMs + 1), '') };
  for (;;) {
    options.checkpoint();
    const messages = await collectionOf<MessageDocument>(options.database, 'message')
      .find({
        orgId: one.orgId ?? '',
        'own.conversationId': one._id,
        byCreated,
      })
      .project<{ _id: string; version: number }>({ version: 1 })
      .limit(chunkSize)
      .toArray();
    if (messages.length === 0) return;
    const lapses = messages.map(({ _id, version }): Lapse => ({ op: 'lapse', id: _id, version, days }));
    await applyChanges(options, 'message', lapses);
  }
}
