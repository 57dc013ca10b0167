import { readFileSync } from 'node:fs';
import { servedVersions } from '../../../shared/control/generations.ts';
import { exampleList } from '../paging/list-envelope.ts';
import { presentChannel, presentChannelItem } from './channels/presenter.ts';
import { channelListSchema, channelSchema } from './channels/schema.ts';
import { presentConversationHead } from './conversations/presenter.ts';
import { conversationSchema } from './conversations/schema.ts';
import { messageListSchema, presentMessageItem } from './messages.ts';
import { presentQa, qaListSchema } from './qas.ts';
import { presentTicket, presentTicketItem } from './tickets/presenter.ts';
import { ticketListSchema, ticketSchema } from './tickets/schema.ts';

type Golden = Record<string, { state: object; joined: { joined: object } }>;

const now = new Date('2026-01-01T13:00:00Z');

/** The documents of a version as the projector stored them. A served version without a golden file fails here. */
function documents(version: number): (kind: string) => never {
  const path = `services/projector/projections/golden/version-${version}.json`;
  const golden = JSON.parse(readFileSync(path, 'utf8'), (_, value: unknown) =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*Z$/.test(value) ? new Date(value) : value,
  ) as Golden;
  return (kind) => ({ state: golden[kind]?.state, joined: golden[kind]?.joined.joined }) as never;
}

// If a case fails for an older version, its documents lack a field that the schema promises: let the presenter give null.
describe.each(servedVersions)(
  'documents of projection version %i are presented as the schema promises:',
  (version) => {
    const stored = documents(version);
    const list = (item: object) => exampleList('/v1/x', [item]);
    test.each<[string, { parse: (value: unknown) => unknown }, () => object]>([
      ['ticket', ticketSchema, () => presentTicket(stored('ticket'), now)],
      ['ticket in a list', ticketListSchema, () => list(presentTicketItem(stored('ticket'), now))],
      ['message', messageListSchema, () => list(presentMessageItem(stored('message')))],
      ['channel', channelSchema, () => presentChannel(stored('channel'), { now, brand: 'acme' })],
      ['channel in a list', channelListSchema, () => list(presentChannelItem(stored('channel'), now))],
      ['qa', qaListSchema, () => list(presentQa(stored('qa')))],
      [
        'conversation',
        conversationSchema.omit({ messages: true }),
        () => presentConversationHead(stored('conversation'), 'resolved', undefined),
      ],
    ])('%s', (_, schema, present) => {
      schema.parse(present());
    });
  },
);
