import { BSON } from 'mongodb';
import type { ConversationDocument } from '../../shared/documents/conversation.ts';
import type { Kind } from '../../shared/documents/document.ts';
import {
  idLengthMax,
  itemsMax,
  longTextLengthMax,
  nameLengthMax,
  shortTextLengthMax,
} from '../../shared/documents/fields.ts';
import type { MessageDocument } from '../../shared/documents/message.ts';
import { sortKey } from '../../shared/documents/instant.ts';
import { states, type EntityState } from '../../shared/documents/resources.ts';
import { embeddedConversationsMax, type TicketDocument } from '../../shared/documents/ticket.ts';
import { createRandom } from './random.ts';

const megabyte = 1024 * 1024;

/** An ideograph takes three bytes, the maximum for one UTF-16 unit. */
const textOf = (length: number) => '漢'.repeat(length);

/** Ids are index keys. Random ideographs keep an index from compressing them. */
const random = createRandom(1);
const ideograph = () => String.fromCharCode(0x4e00 + random.int(0x5000));
const idOf = (prefix: string, index = 0) => {
  const start = `${prefix}${String(index).padStart(4, '0')}`;
  return start + Array.from({ length: idLengthMax - start.length }, ideograph).join('');
};
const idsOf = (prefix: string) => Array.from({ length: itemsMax }, (_, index) => idOf(prefix, index));

const instant = '2026-01-01T00:00:00.123Z';
const date = new Date(instant);
const person = { name: textOf(nameLengthMax), email: textOf(shortTextLengthMax) };
const label = (id: string) => ({ id, name: textOf(nameLengthMax) });
const references = (ids: Partial<Record<string, string[]>>) =>
  Object.entries(ids).flatMap(([edge, some]) => (some ?? []).map((id) => `${edge}:${id}`));

const envelope = {
  orgId: idOf('org_'),
  version: Number.MAX_SAFE_INTEGER,
  revision: Number.MAX_SAFE_INTEGER,
  position: { partition: 1, offset: Number.MAX_SAFE_INTEGER, timestampMs: Number.MAX_SAFE_INTEGER },
  tombstonePosition: { partition: 1, offset: Number.MAX_SAFE_INTEGER, timestampMs: Number.MAX_SAFE_INTEGER },
};
const keys = (id: string) => ({ _id: id, byCreated: sortKey(date, id), byUpdated: sortKey(date, id) });

/** The parsed state: the parser refuses a state beyond the bounds. */
const accepted = <K extends Kind>(kind: K, state: object): EntityState[K] =>
  states[kind].parse(state) as EntityState[K];

/** A ticket with every text, id and list at its bound, as are the entities that it refers to. */
export function largestTicket(): TicketDocument {
  const id = idOf('ti_');
  const [tagIds, topicIds] = [idsOf('tag_'), idsOf('topic_')];
  const conversations = Array.from({ length: embeddedConversationsMax }, (_, index) => idOf('conv_', index));
  const channels = conversations.map((_, index) => idOf('chan_', index));
  const named = { requesterId: idOf('con_'), tagIds, topicIds };
  const state = accepted('ticket', {
    id,
    title: textOf(longTextLengthMax),
    status: 'assumed_resolved',
    ...named,
    estimatedScore: 5,
    createdAt: instant,
    updatedAt: instant,
  });
  return {
    ...envelope,
    ...keys(id),
    state,
    joined: {
      requester: { name: person.name, email: { email: person.email, verified: true } },
      tags: tagIds.map(label),
      topics: topicIds.map(label),
      conversations: conversations.map((one) => ({
        id: one,
        role: 'primary',
        status: 'scheduled_ai_response',
        createdAt: date,
        updatedAt: date,
        retainUntil: date,
      })),
      moreAfter: sortKey(date, idOf('conv_')),
    },
    refs: references({
      'requester:contact': [state.requesterId],
      'tags:tag': tagIds,
      'topics:topic': topicIds,
      'conversations:conversation': conversations,
      'channels:channel': channels,
    }),
  };
}

/** The largest conversation, in the same way. */
export function largestConversation(): ConversationDocument {
  const id = idOf('conv_');
  const [tagIds, topicIds] = [idsOf('tag_'), idsOf('topic_')];
  const others = { channelId: idOf('chan_'), contactId: idOf('con_'), assignedUserId: idOf('user_') };
  const state = accepted('conversation', {
    id,
    ticketId: idOf('ti_'),
    role: 'primary',
    title: textOf(longTextLengthMax),
    ...others,
    status: 'scheduled_ai_response',
    supportLevel: 'human',
    tagIds,
    topicIds,
    urgencyScore: 3,
    createdAt: instant,
    updatedAt: instant,
    waitingSince: instant,
    firstHumanReplyAt: instant,
    resolvedAt: instant,
  });
  return {
    ...envelope,
    ...keys(id),
    state,
    joined: {
      channel: { ...label(state.channelId), type: 'chatbot', dataRetentionDays: Number.MAX_SAFE_INTEGER },
      contact: person,
      assignedUser: { id: others.assignedUserId, ...person },
      topics: topicIds.map((one) => ({ ...label(one), color: '#0088ff' })),
      tags: tagIds.map(label),
    },
    refs: references({
      'channel:channel': [state.channelId],
      'contact:contact': [state.contactId],
      'assignedUser:user': [others.assignedUserId],
      'topics:topic': topicIds,
      'tags:tag': tagIds,
    }),
  };
}

/** A message at its bound of 8 MB, which its content and attachments share. */
export function largestMessage(): MessageDocument {
  const id = idOf('msg_');
  const author = { type: 'contact', id: idOf('con_') };
  const attachments = idsOf('att_').map((one) => ({
    id: one,
    filename: textOf(nameLengthMax),
    inline: true,
  }));
  const fields = { id, conversationId: idOf('conv_'), type: 'email', role: 'assistant', author };
  const given = { ...fields, attachments, createdAt: instant, sentAt: instant, content: '' };
  const room = 8 * megabyte - BSON.calculateObjectSize(accepted('message', given));
  const state = accepted('message', { ...given, content: 'x'.repeat(room) });
  return {
    ...envelope,
    ...keys(id),
    state,
    joined: { author: person },
    refs: references({ 'conversation:conversation': [state.conversationId], 'author:contact': [author.id] }),
  };
}
