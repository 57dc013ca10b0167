import { BSON } from 'mongodb';
import type { Message, MessageDocument } from '../../../shared/documents/message.ts';
import { resources } from '../../../shared/documents/resources.ts';
import type { ServedIndex } from '../../../shared/documents/served-indexes.ts';
import type { ReplySize } from './expected-bytes.ts';
import { createGather } from './gather.ts';
import { readData } from './read-data.ts';
import { type FindCommand, itemsBytesMax, readReply } from './read-reply.ts';
import type { DataSnapshot } from './read-snapshot.ts';

/**
 * Messages in one reply of MongoDB. The limit saves memory, and a thread may be longer. For 100,000 messages (48 MB of
 * JSON) the process grew by 20 MB. With batches of 200 it grew by 50 MB, because more objects survive each garbage
 * collection.
 */
export const threadBatchSize = 100;
/** Messages in the reply of a query for several threads. */
const sharedReplyMax = 500;

/** The fields that a conversation shows of its messages. */
export const threadProjection = {
  _id: 0,
  'state.id': 1,
  'state.role': 1,
  'state.content': 1,
  'state.createdAt': 1,
  'state.sentAt': 1,
  'state.attachments': 1,
};

type ShownField = 'id' | 'role' | 'content' | 'createdAt' | 'sentAt' | 'attachments';
export type ThreadMessage = { state: Pick<Message, ShownField>; byCreated: string };
type StoredMessage = Pick<MessageDocument, 'orgId'> & ThreadMessage & { state: { conversationId: string } };

/** The first messages of a thread, oldest first; not all of them unless `isComplete`. */
export type ThreadStart = ReplySize & { documents: StoredMessage[]; isComplete: boolean };
/** A thread is the messages of one conversation. */
type WantedThread = { orgId: string; conversationId: string };

const emptyStart = (isComplete: boolean): ThreadStart => ({
  documents: [],
  isComplete,
  replyItems: 0,
  replyBytes: 0,
});

const limitOf = (wanted: WantedThread[]) => Math.min(threadBatchSize * wanted.length, sharedReplyMax);

/**
 * The `find` command for the start of several threads. Each thread is one range of the index, and the reply has the
 * threads one after another. If the reply is cut off, only its last thread is incomplete, and later threads are
 * missing.
 */
export function findThreads(wanted: WantedThread[]): FindCommand {
  const ids = [...new Set(wanted.map(({ conversationId }) => conversationId))];
  const limit = limitOf(wanted);
  return {
    find: resources.message.collection,
    filter: {
      'state.conversationId': { $in: ids },
      orgId: { $in: [...new Set(wanted.map(({ orgId }) => orgId))] },
      // Excludes deleted messages: they have no sort key.
      byCreated: { $gt: '' },
    },
    sort: { 'state.conversationId': 1, orgId: 1, byCreated: 1 },
    projection: { ...threadProjection, 'state.conversationId': 1, orgId: 1, byCreated: 1 },
    hint: 'thread' satisfies ServedIndex<'message'>,
    limit,
    batchSize: limit + 1,
  };
}

/** Creates the function that finds the start of a thread. Requests of any organization share a query. */
export function createThreadFinder() {
  const gather = createGather<WantedThread, ThreadStart>();
  return (snapshot: DataSnapshot, wanted: WantedThread): Promise<ThreadStart> =>
    gather({ snapshot, name: 'threads' }, wanted, (wantedOfAll) => readStarts(snapshot, wantedOfAll));
}

async function readStarts(snapshot: DataSnapshot, wanted: WantedThread[]) {
  const { raws, mayBeCut } = await readData(snapshot, (options) =>
    readReply(snapshot.database, findThreads(wanted), options),
  );
  let isCut = mayBeCut || raws.length === limitOf(wanted);
  /** By organization, then by conversation, because the two ids joined as one text could be ambiguous. */
  const starts = new Map<string, Map<string, ThreadStart>>();
  const startOf = ({ orgId, state: { conversationId } }: StoredMessage): ThreadStart => {
    const orgStarts = starts.get(orgId) ?? new Map<string, ThreadStart>();
    const start = orgStarts.get(conversationId) ?? emptyStart(true);
    starts.set(orgId, orgStarts.set(conversationId, start));
    return start;
  };
  let last: ThreadStart | null = null;
  let bytes = 0;
  for (const raw of raws) {
    // Decoded threads stay in memory until their requests are answered. Each request reads the rest of its own thread.
    if (last && bytes + raw.length > itemsBytesMax) {
      isCut = true;
      break;
    }
    bytes += raw.length;
    const message = BSON.deserialize(raw) as StoredMessage;
    last = startOf(message);
    last.documents.push(message);
    last.replyItems += 1;
    last.replyBytes += raw.length;
  }
  if (isCut && last) last.isComplete = false;
  // If the reply was cut off, an absent thread may have messages beyond the cut.
  const absent = emptyStart(!isCut);
  return {
    find: ({ orgId, conversationId }: WantedThread) => starts.get(orgId)?.get(conversationId) ?? absent,
  };
}
