import { exportChanges } from '../../clients/typescript/src/index.ts';
import * as build from '../api/builders.ts';
import { useApi } from '../api/test-api.ts';
import { matching } from '../support/matchers.ts';
import { connect, createHoldingFetch, joinedConversations, rejectionOf } from './test-client.ts';

describe('an export of a ticket with twelve threads', () => {
  const ids = Array.from({ length: 12 }, (_, index) => `conv_${index + 10}`);
  const api = useApi({
    ticket: [build.ticket({ id: 'ti_1' }, { joined: joinedConversations(ids) })],
    conversation: ids.map((id) => build.conversation({ id })),
  });
  beforeAll(() => build.dataAsOf(api.store.control, new Date('2026-03-01T00:00:00Z')));

  test('requests at most as many threads at the same time as `concurrency` allows', async () => {
    const { pendingSignals, fetch } = createHoldingFetch();
    let pendingMax = 0;
    const { client } = connect({
      baseUrl: api.url,
      fetch: (url, init) => {
        const response = fetch(url, init);
        pendingMax = Math.max(pendingMax, pendingSignals.size);
        return response;
      },
    });
    const batches = await Array.fromAsync(exportChanges({ client, threads: true, concurrency: 3 }));
    // The page of tickets, then each thread.
    expect(batches).toHaveLength(1 + ids.length);
    expect(pendingMax).toBe(3);
  });

  test('aborts its requests in progress when the loop ends', async () => {
    const { pendingSignals, holdRequestsAfter, fetch } = createHoldingFetch();
    const { client } = connect({ baseUrl: api.url, fetch });
    holdRequestsAfter(2);
    let signalsAtEnd: (AbortSignal | null | undefined)[] = [];
    for await (const batch of exportChanges({ client, threads: true, concurrency: 3 })) {
      signalsAtEnd = [...pendingSignals];
      if ('messages' in batch) break;
    }
    expect(signalsAtEnd.length).toBeGreaterThan(0);
    expect(signalsAtEnd.every((signal) => signal?.aborted)).toBe(true);
  });

  test.each([0, -1, 1.5])(
    'refuses concurrency %d with an error that names the option',
    async (concurrency) => {
      const { client } = connect({ baseUrl: api.url });
      const batches = Array.fromAsync(exportChanges({ client, concurrency }));
      expect(await rejectionOf(batches)).toMatchObject({ message: matching(/^concurrency must be/) });
    },
  );
});
