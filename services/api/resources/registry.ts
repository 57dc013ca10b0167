import type { Route } from '../http/route.ts';
import { channelRoutes, type ChannelDeps } from './channels/routes.ts';
import { conversationRoutes } from './conversations/routes.ts';
import { messageRoutes } from './messages/routes.ts';
import { qaRoutes } from './qas/routes.ts';
import { ticketRoutes } from './tickets/routes.ts';

/** Every endpoint below `/v1`: what the router serves, and what the contract tests walk through. */
export const createRegistry = (deps: ChannelDeps): Route[] => [
  ...ticketRoutes(deps),
  ...conversationRoutes(deps),
  ...messageRoutes(deps),
  ...channelRoutes(deps),
  ...qaRoutes,
];
