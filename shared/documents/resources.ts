import { agentResource, agentState, type Agent } from './agent.ts';
import { apiKeyResource, apiKeyState, type ApiKey } from './api-key.ts';
import { channelResource, channelState, type Channel } from './channel.ts';
import { contactResource, contactState, type Contact } from './contact.ts';
import { conversationResource, conversationState, type Conversation } from './conversation.ts';
import type { Kind, Resource } from './document.ts';
import { messageResource, messageState, type Message } from './message.ts';
import { qaResource, qaState, type Qa } from './qa.ts';
import { tagResource, tagState, type Tag } from './tag.ts';
import { ticketResource, ticketState, type Ticket } from './ticket.ts';
import { topicResource, topicState, type Topic } from './topic.ts';
import { userResource, userState, type User } from './user.ts';

/** The state of each entity, as stored under `state`. */
export type EntityState = {
  apiKey: ApiKey;
  contact: Contact;
  user: User;
  agent: Agent;
  tag: Tag;
  topic: Topic;
  channel: Channel;
  ticket: Ticket;
  conversation: Conversation;
  message: Message;
  qa: Qa;
};

export const resources: { [K in Kind]: Resource<EntityState[K]> } = {
  apiKey: apiKeyResource,
  contact: contactResource,
  user: userResource,
  agent: agentResource,
  tag: tagResource,
  topic: topicResource,
  channel: channelResource,
  ticket: ticketResource,
  conversation: conversationResource,
  message: messageResource,
  qa: qaResource,
};

/** The schema of each entity's `data` in an event. */
export const states = {
  apiKey: apiKeyState,
  contact: contactState,
  user: userState,
  agent: agentState,
  tag: tagState,
  topic: topicState,
  channel: channelState,
  ticket: ticketState,
  conversation: conversationState,
  message: messageState,
  qa: qaState,
} as const;
