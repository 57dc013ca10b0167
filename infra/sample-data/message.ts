import type { SourceState } from './encode.ts';
import { entity, type Entity } from './entity.ts';
import { answer, followUp, opening, type Subject } from './language.ts';
import type { Organization } from './organization.ts';
import type { Random } from './random.ts';
import { filenames, systemNotes } from './vocabulary.ts';

type MessageState = SourceState<'message'>;
export type Role = MessageState['role'];

/** A conversation with everything that its messages refer to. */
export type ConversationContext = {
  organization: Organization;
  ticket: Entity<'ticket'>;
  conversation: Entity<'conversation'>;
  subject: Subject;
  medium: MessageState['type'];
};

/** Returns the role of the next message: the contact first, then contact and team in turns, with rare system notes. */
export function nextRole(random: Random, previous: Role | null, supportLevel: 'ai' | 'human'): Role {
  if (previous === null) return 'user';
  if (random.chance(0.04)) return 'system';
  if (previous !== 'user') return random.chance(0.8) ? 'user' : 'human';
  return random.chance(supportLevel === 'ai' ? 0.8 : 0.2) ? 'assistant' : 'human';
}

/** Creates a message, recorded at `at`. The first message of a conversation introduces its subject. */
export function writeMessage(
  random: Random,
  { organization, conversation, subject, medium }: ConversationContext,
  { role, first, at }: { role: Role; first: boolean; at: Date },
): Entity<'message'> {
  const outbound = role === 'human' || role === 'assistant';
  const attachments = attach(random, role);
  return entity('message', organization.id, {
    id: random.id('msg_'),
    conversationId: conversation.state.id,
    type: medium,
    role,
    author: authorOf(random, organization, conversation, role),
    content: attachments.length > 0 && random.chance(0.1) ? null : contentOf(random, subject, role, first),
    attachments,
    createdAt: at.toISOString(),
    // A few outbound messages stay unsent drafts.
    sentAt:
      outbound && random.chance(0.97)
        ? new Date(at.getTime() + random.between(0, 4_000)).toISOString()
        : null,
  });
}

function authorOf(
  random: Random,
  { users, agents }: Organization,
  { state }: Entity<'conversation'>,
  role: Role,
): NonNullable<MessageState['author']> | null {
  switch (role) {
    case 'user':
      return { type: 'contact', id: state.contactId };
    case 'human':
      return { type: 'user', id: state.assignedUserId ?? random.pick(users).state.id };
    case 'assistant':
      return { type: 'ai_agent', id: random.pick(agents).state.id };
    case 'system':
      return null;
  }
}

function contentOf(random: Random, subject: Subject, role: Role, first: boolean): string {
  switch (role) {
    case 'user':
      return first ? opening(random, subject) : followUp(random);
    case 'human':
    case 'assistant':
      return answer(random, subject);
    case 'system':
      return random.pick(systemNotes);
  }
}

function attach(random: Random, role: Role): MessageState['attachments'] {
  const files = role !== 'system' && random.chance(0.08) ? random.some(filenames, random.between(1, 3)) : [];
  const attachments = files.map((filename) => ({ id: random.id('att_'), filename, inline: false }));
  if (role === 'human' && random.chance(0.1)) {
    attachments.push({ id: random.id('att_'), filename: 'signature-logo.png', inline: true });
  }
  return attachments;
}
