import { apiKeyResource, apiKeyState, type ApiKey } from './api-key.ts';
import { channelResource, channelState, type Channel } from './channel.ts';
import { conversationResource, conversationState, type Conversation } from './conversation.ts';
import type { Kind, Resource } from './document.ts';
import { messageResource, messageState, type Message } from './message.ts';
import { qaResource, qaState, type Qa } from './qa.ts';
import * as references from './references.ts';
import { ticketResource, ticketState, type Ticket } from './ticket.ts';

/** The state of each entity, as stored under `state`. */
export type EntityState = {
  apiKey: ApiKey;
  contact: references.Contact;
  user: references.User;
  agent: references.Agent;
  tag: references.Tag;
  topic: references.Topic;
  channel: Channel;
  ticket: Ticket;
  conversation: Conversation;
  message: Message;
  qa: Qa;
};

export const resources: { [K in Kind]: Resource<EntityState[K]> } = {
  apiKey: apiKeyResource,
  contact: references.contactResource,
  user: references.userResource,
  agent: references.agentResource,
  tag: references.tagResource,
  topic: references.topicResource,
  channel: channelResource,
  ticket: ticketResource,
  conversation: conversationResource,
  message: messageResource,
  qa: qaResource,
};

/** What the bus carries as `data`, entity by entity. */
export const states = {
  apiKey: apiKeyState,
  contact: references.contactState,
  user: references.userState,
  agent: references.agentState,
  tag: references.tagState,
  topic: references.topicState,
  channel: channelState,
  ticket: ticketState,
  conversation: conversationState,
  message: messageState,
  qa: qaState,
} as const;
