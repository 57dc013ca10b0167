import { readTimeoutMs } from '../../services/api/store/deadline.ts';
import * as build from './builders.ts';
import { oneOfEach, urls } from './every-route.ts';
import { useApi } from './test-api.ts';

const now = new Date('2026-03-01T00:00:00.000Z');
const second = (index: number) => new Date(Date.parse(build.at) + index * 1_000).toISOString();

const conversations = Array.from({ length: 450 }, (_, index) =>
  build.conversation({
    id: `conv_${index}`,
    ticketId: 'ti_1',
    createdAt: second(index),
    updatedAt: now.toISOString(),
  }),
);
const joined = build.ticketJoined({ moreAfter: conversations[0]?.byCreated ?? null });
const api = useApi(
  {
    ...oneOfEach(),
    ticket: [build.ticket({ id: 'ti_1' }, { joined })],
    conversation: conversations,
    message: Array.from({ length: 250 }, (_, index) =>
      build.message({ id: `msg_${String(index).padStart(3, '0')}`, createdAt: second(index) }),
    ),
  },
  { now: () => now, monitored: true },
);

it('every read ends at the store before the driver would drop its connection', async () => {
  for (const path of [
    ...urls,
    '/v1/tickets?createdAt[lte]=2020-01-01',
    '/v1/conversations/conv_1/messages?limit=100',
  ]) {
    expect([path, (await api.get(path)).status]).toEqual([path, 200]);
  }
  expect((await api.get('/v1/tickets', { token: 'svc_live_unknown' })).status).toBe(401);
  const reads = api.commands.filter(
    ({ commandName }) => !['hello', 'ping', 'endSessions'].includes(commandName),
  );
  expect(reads.length).toBeGreaterThan(20);
  for (const { commandName, command } of reads) {
    const { maxTimeMS } = command as { maxTimeMS?: number };
    expect([commandName, maxTimeMS ?? Infinity]).toEqual([commandName, expect.any(Number)]);
    expect(maxTimeMS ?? Infinity).toBeLessThan(readTimeoutMs);
  }
});
