import type { ChannelJoined } from '../../../shared/documents/channel.ts';
import { defineProjection } from './define-projection.ts';

export const channel = defineProjection(
  'channel',
  ({ one }) => ({
    agent: one('agent', (state) => state.agentId, 'id', 'name', 'disabled'),
    routesTo: one(
      'channel',
      ({ config }) => ('routesToChannelId' in config ? config.routesToChannelId : null),
      'id',
      'name',
    ),
  }),
  (joined): ChannelJoined => joined,
);
