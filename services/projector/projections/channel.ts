import type { ChannelJoined } from '../../../shared/documents/channel.ts';
import { define, one } from './define.ts';

type Known<Field extends keyof ChannelJoined> = NonNullable<ChannelJoined[Field]>;

export const channel = define('channel', {
  refers: {
    agent: one<'agent', 'channel', Known<'agent'>>(
      'agent',
      (own) => own.agentId,
      ({ id, name, disabled }) => ({ id, name, disabled }),
    ),
    routesTo: one<'channel', 'channel', Known<'routesTo'>>(
      'channel',
      (own) => ('routesToChannelId' in own.config ? own.config.routesToChannelId : null),
      ({ id, name }) => ({ id, name }),
    ),
  },
  document: (joined): ChannelJoined => joined,
});
