import { findDeleted } from '../../clients/typescript/src/index.ts';
import * as build from '../api/builders.ts';
import { useApi } from '../api/test-api.ts';
import { connect, takeAll } from './test-client.ts';

const days = 10;
const expiryMs = Date.parse(build.at) + days * 86_400_000;
const clock = { now: new Date(expiryMs - 10_000) };

const embedded = (id: string, retainUntil: Date | null = null) => ({
  id,
  role: 'primary' as const,
  status: 'resolved' as const,
  createdAt: new Date(build.at),
  updatedAt: new Date(build.at),
  retainUntil,
});
const channel = { id: 'chan_1', name: 'Support', type: 'email' as const, dataRetentionDays: days };

const conversations = [embedded('conv_1'), embedded('conv_expiring', new Date(expiryMs))];
const api = useApi(
  {
    ticket: [
      build.ticket({ id: 'ti_one' }, { joined: build.ticketJoined({ conversations }) }),
      ...Array.from({ length: 120 }, (_, index) => build.ticket({ id: `ti_${index}` })),
    ],
    conversation: [
      build.conversation({ id: 'conv_1' }),
      build.conversation({ id: 'conv_archived', ticketId: 'ti_0', status: 'archived' }),
      build.conversation({ id: 'conv_expiring' }, { joined: build.conversationJoined({ channel }) }),
    ],
  },
  { now: () => clock.now, nowMs: () => clock.now.getTime() },
);

const stored = (...ids: string[]) => ids.map((id) => ({ id, createdAt: build.at }));
const found = async () => {
  const { client, asked } = connect({ baseUrl: api.url });
  const copy = {
    tickets: stored('ti_one', 'ti_7', 'ti_gone'),
    conversations: stored('conv_1', 'conv_archived', 'conv_expiring', 'conv_gone'),
  };
  const deleted = await takeAll(findDeleted({ client, ...copy }));
  return { deleted: deleted.map(({ object, id }) => `${object} ${id}`), requests: asked.length };
};
/** Sets `Data-As-Of` to the creation of all items plus an offset. */
const completeTo = async (offsetMs: number) => {
  await build.dataAsOf(api.store.control, new Date(Date.parse(build.at) + offsetMs));
  clock.now = new Date(clock.now.getTime() + 2_000);
};

test('finds nothing while the API does not reflect the time at which the items were created', async () => {
  await completeTo(999);
  expect((await found()).deleted).toEqual([]);
});

test('finds deleted tickets and conversations of a copy, by the list and one request for each absent item', async () => {
  await completeTo(1_000);
  expect(await found()).toEqual({ deleted: ['ticket ti_gone', 'conversation conv_gone'], requests: 5 });
});

test('finds expired conversations, and no archived ones', async () => {
  clock.now = new Date(expiryMs);
  expect((await found()).deleted).toEqual([
    'ticket ti_gone',
    'conversation conv_expiring',
    'conversation conv_gone',
  ]);
});
