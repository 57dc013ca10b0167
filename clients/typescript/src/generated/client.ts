/** Generated from openapi.json by npm run client:generate. Do not edit. */
import type { Requests } from '../requests.ts';
import type { Answer, ListRequest, Query, RequestOptions } from '../types.ts';
import type { components } from './openapi.ts';

type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

/** A file attached to a message. */
export interface Attachment extends Schema<'Attachment'> {}
/** The sender of a message. */
export interface Author extends Schema<'Author'> {}
/** A channel with its settings and the configuration of its type. */
export type Channel = EmailChannel | ChatbotChannel | FormChannel;
/** A channel in a list. */
export interface ChannelItem extends Schema<'ChannelItem'> {}
/** Processing settings that all channel types share. */
export interface ChannelSettings extends Schema<'ChannelSettings'> {}
/** The current status of a channel. */
export interface ChannelStatus extends Schema<'ChannelStatus'> {}
/** A chat widget. */
export interface ChatbotChannel extends Schema<'ChatbotChannel'> {}
/** The configuration of a chat widget. */
export interface ChatbotConfig extends Schema<'ChatbotConfig'> {}
/** A thread of messages with one contact. */
export interface Conversation extends Schema<'Conversation'> {}
/** A message inside a retrieved conversation. */
export interface ConversationMessage extends Schema<'ConversationMessage'> {}
/** A reference to a conversation of a ticket. */
export interface ConversationReference extends Schema<'ConversationReference'> {}
/** A topic, with its color. */
export interface ConversationTopic extends Schema<'ConversationTopic'> {}
/** An email inbox. */
export interface EmailChannel extends Schema<'EmailChannel'> {}
/** The configuration of an email inbox. */
export interface EmailConfig extends Schema<'EmailConfig'> {}
/** A form. */
export interface FormChannel extends Schema<'FormChannel'> {}
/** The configuration of a form. */
export interface FormConfig extends Schema<'FormConfig'> {}
/** A tag or a topic. */
export interface Label extends Schema<'Label'> {}
/** A message in a list. */
export interface Message extends Schema<'Message'> {}
/** A question and its answer in the knowledge base. */
export interface Qa extends Schema<'Qa'> {}
/** The contact who requested the ticket. */
export interface Requester extends Schema<'Requester'> {}
/** A case: at most one primary conversation and any number of side conversations. */
export interface Ticket extends Schema<'Ticket'> {}
/** A conversation inside a retrieved ticket. */
export interface TicketConversation extends Schema<'TicketConversation'> {}
/** A ticket in a list, with references to its conversations. */
export interface TicketItem extends Schema<'TicketItem'> {}

/** Parameters of `tickets.list`. */
export interface ListTicketsParams extends Query<'/v1/tickets'> {}
/** Parameters of `conversations.messages.list`. */
export interface ListMessagesParams extends Query<'/v1/conversations/{id}/messages'> {}
/** Parameters of `channels.list`. */
export interface ListChannelsParams extends Query<'/v1/channels'> {}
/** Parameters of `qas.list`. */
export interface ListQasParams extends Query<'/v1/knowledge/qa'> {}

/** The endpoints of the API. */
export interface Client {
  tickets: {
    /** List tickets. Returns the tickets of the organization in the order of `sort`, then by id. Each ticket has references to its conversations. To export the changes since a time, filter by `updatedAt[gte]`, then fetch the messages of the conversations of each ticket. */
    list: (params?: ListTicketsParams, options?: RequestOptions) => ListRequest<TicketItem>;
    /** Retrieve a ticket. Returns the ticket with its conversations, oldest first, without their messages. Fetch the messages of each conversation separately. */
    retrieve: (id: string, options?: RequestOptions) => Promise<Answer<Ticket>>;
  };
  conversations: {
    /** Retrieve a conversation. Returns the conversation with all its messages, oldest first, however long the thread is. An archived conversation returns 404. */
    retrieve: (id: string, options?: RequestOptions) => Promise<Answer<Conversation>>;
    messages: {
      /** List the messages of a conversation. Returns the messages of the conversation, oldest first. The length of a thread is not limited. The conversation may be archived. */
      list: (id: string, params?: ListMessagesParams, options?: RequestOptions) => ListRequest<Message>;
    };
  };
  channels: {
    /** List channels. Returns the channels of the organization, oldest first, without archived channels. */
    list: (params?: ListChannelsParams, options?: RequestOptions) => ListRequest<ChannelItem>;
    /** Retrieve a channel. Returns the channel with its settings and the configuration of its type, also if the channel is archived. */
    retrieve: (id: string, options?: RequestOptions) => Promise<Answer<Channel>>;
  };
  qas: {
    /** List the Q&As of the knowledge base. Returns the Q&As of the organization by creation time and id, oldest first. All pages together are a complete export. */
    list: (params?: ListQasParams, options?: RequestOptions) => ListRequest<Qa>;
  };
}

export const createMethods = ({ list, retrieve }: Requests): Client => ({
  tickets: {
    list: (params, options) => list('/v1/tickets', null, params, options),
    retrieve: (id, options) => retrieve('/v1/tickets/{id}', id, options),
  },
  conversations: {
    retrieve: (id, options) => retrieve('/v1/conversations/{id}', id, options),
    messages: {
      list: (id, params, options) => list('/v1/conversations/{id}/messages', id, params, options),
    },
  },
  channels: {
    list: (params, options) => list('/v1/channels', null, params, options),
    retrieve: (id, options) => retrieve('/v1/channels/{id}', id, options),
  },
  qas: {
    list: (params, options) => list('/v1/knowledge/qa', null, params, options),
  },
});
