import type { Route } from '../http/route.ts';
import { type ChannelDeps, listChannels, retrieveChannel } from './channels/routes.ts';
import { retrieveConversation } from './conversations/routes.ts';
import { listMessages } from './messages.ts';
import { listQas } from './qas.ts';
import { listTickets, retrieveTicket } from './tickets/routes.ts';

/** Every endpoint below `/v1`, for the router, the OpenAPI document and the contract tests. */
export const createRoutes = (deps: ChannelDeps): Route[] => [
  listTickets(deps),
  retrieveTicket(deps),
  retrieveConversation(deps),
  listMessages(deps),
  listChannels(deps),
  retrieveChannel(deps),
  listQas,
];
