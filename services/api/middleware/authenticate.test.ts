import { EventEmitter } from 'node:events';
import { createGenerationsInUse } from '../store/generations-in-use.ts';
import { authenticate } from './authenticate.ts';

/** Authenticates a request whose client leaves, or not, while the snapshot is read; `after` are the counts at its end. */
async function given({ leaves }: { leaves: boolean }) {
  const res = Object.assign(new EventEmitter(), { closed: false });
  const context = {
    req: { headers: { authorization: `Bearer svc_live_${'a'.repeat(32)}` } },
    res,
    set: () => undefined,
    state: {},
  };
  const generationsInUse = createGenerationsInUse();
  const middleware = authenticate({
    keyPrefix: 'svc',
    generationsInUse,
    snapshots: {
      current: async () => {
        res.closed = leaves;
        if (leaves) res.emit('close');
        return { generation: 1, dataAsOf: new Date() };
      },
    },
    apiKeys: { find: async () => ({ orgId: 'org_1', keyId: 'key_1' }) },
  } as unknown as Parameters<typeof authenticate>[0]);
  let isPassedOn = false;
  await middleware(context as never, async () => void (isPassedOn = true));
  const counts = generationsInUse.counts();
  res.emit('close');
  return { isPassedOn, counts, after: generationsInUse.counts() };
}

it('a request counts as a reader of its generation until it ends', async () => {
  const counts = [{ generation: 1, requests: 1 }];
  expect(await given({ leaves: false })).toEqual({ isPassedOn: true, counts, after: [] });
});

it('a client that has left is no reader: a drop would wait for it for ever', async () => {
  expect(await given({ leaves: true })).toEqual({ isPassedOn: false, counts: [], after: [] });
});
