import { exportChanges } from '../../clients/typescript/src/index.ts';
import * as build from '../api/builders.ts';
import { useApi } from '../api/test-api.ts';
import { connect, takeAll } from './test-client.ts';

const conversations = [{ ...build.ticketJoined().conversations[0], id: 'conv_1' }] as never;
const api = useApi({
  ticket: [build.ticket({ id: 'ti_1' }, { joined: build.ticketJoined({ conversations }) })],
  conversation: [build.conversation({ id: 'conv_1' })],
  message: [build.message({ id: 'msg_1', conversationId: 'conv_1' })],
});

test('the next run begins at the Data-As-Of of a thread that a lagging replica returned', async () => {
  const { client } = connect({
    baseUrl: api.url,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      const headers = new Headers(response.headers);
      const isThread = (url as string).includes('/v1/conversations/');
      headers.set('Data-As-Of', `2026-0${isThread ? 2 : 3}-10T00:00:00.000Z`);
      return new Response(await response.arrayBuffer(), { headers });
    },
  });
  const batches = await takeAll(exportChanges({ client, threads: true }));
  expect(batches.at(-1)?.since).toBe('2026-02-10T00:00:00.000Z');
});
