import type { Route } from '../http/route.ts';
import { channelRoutes, type ChannelDeps } from './channels/routes.ts';
import { conversationRoutes } from './conversations/routes.ts';
import { messageRoutes } from './messages.ts';
import { qaRoutes } from './qas.ts';
import { ticketRoutes } from './tickets/routes.ts';

/** Every endpoint below `/v1`, for the router, the OpenAPI document and the contract tests. */
export const createRoutes = (deps: ChannelDeps): Route[] => [
  ...ticketRoutes(deps),
  ...conversationRoutes(deps),
  ...messageRoutes(deps),
  ...channelRoutes(deps),
  ...qaRoutes,
];
