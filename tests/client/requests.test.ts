import * as build from '../api/builders.ts';
import { tokens, useApi } from '../api/test-api.ts';
import { connect, failureOf } from './test-client.ts';

const api = useApi({
  ticket: ['ti_001', 'ti_002'].map((id) => build.ticket({ id })),
  conversation: [build.conversation({ id: 'conv_1' })],
  message: [build.message({ id: 'msg_1' })],
  qa: [build.qa({ id: 'qa_1' })],
});

const connected = (options: Partial<Parameters<typeof connect>[0]> = {}) =>
  connect({ baseUrl: api.url, ...options });

test('`ifNoneMatch` with the `etag` of a response returns no data that the caller already has', async () => {
  const { client } = connected();
  const ticket = await client.tickets.retrieve('ti_001');
  expect(ticket).toMatchObject({ notModified: false, etag: expect.stringMatching(/^W\/"/) as string });
  const same = await client.tickets.retrieve('ti_001', { ifNoneMatch: ticket.etag });
  expect(same).toMatchObject({ notModified: true, data: null, etag: ticket.etag });
  expect(same.dataAsOf).toEqual(ticket.dataAsOf);
  const other = await client.tickets.retrieve('ti_002', { ifNoneMatch: ticket.etag });
  expect(other).toMatchObject({ notModified: false, data: { id: 'ti_002' } });
  const page = await client.qas.list();
  expect(await client.qas.list({}, { ifNoneMatch: page.etag })).toMatchObject({ notModified: true });
  expect(await client.qas.list({}, { ifNoneMatch: null })).toMatchObject({ data: page.data });
  const messages = await client.conversations.messages.list('conv_1');
  const { list } = client.conversations.messages;
  expect(await list('conv_1', {}, { ifNoneMatch: messages.etag })).toMatchObject({ notModified: true });
});

test('raw returns the response with its body unread', async () => {
  const { client } = connected();
  const response = await client.raw('/v1/conversations/conv_1');
  expect(response).toMatchObject({ status: 200, bodyUsed: false });
  const { data, headers } = await client.conversations.retrieve('conv_1');
  expect(await response.json()).toEqual(data);
  expect(headers.get('Content-Type')).toBe(response.headers.get('Content-Type'));
  const missing = client.raw('/v1/conversations/conv_none');
  expect(await failureOf(missing)).toMatchObject({ name: 'ApiError', code: 'conversation_not_found' });
  const etag = response.headers.get('ETag');
  expect((await client.raw('/v1/conversations/conv_1', { ifNoneMatch: etag })).status).toBe(304);
});

test('a raw path that could lead to another host is refused before a request is sent', async () => {
  const { client, asked } = connected();
  for (const path of ['.example.com/v1/', '@example.com/v1/', 'v1/tickets']) {
    expect(await failureOf(client.raw(path as '/v1/'))).toBeInstanceOf(TypeError);
  }
  expect(asked).toEqual([]);
});

test('a request can add headers, but cannot replace those of the client', async () => {
  const sent: Record<string, string>[] = [];
  const { client } = connected({
    fetch: (url, init) => {
      sent.push(init?.headers as Record<string, string>);
      return fetch(url, init);
    },
  });
  await client.tickets.list({}, { headers: { traceparent: '00-1-1-00' } });
  expect(sent).toMatchObject([{ traceparent: '00-1-1-00', Authorization: `Bearer ${tokens.a}` }]);
  for (const name of ['authorization', 'User-Agent', 'If-None-Match']) {
    const refused = client.tickets.list({}, { headers: { [name]: 'x' } });
    expect(await failureOf(refused)).toEqual(new TypeError(`headers must not have ${name}`));
  }
  expect(sent).toHaveLength(1);
});
