import { EventEmitter } from 'node:events';
import type { Context } from '../http/context.ts';
import type { StoreReader } from '../store/reader.ts';
import { Overloaded } from '../store/store-errors.ts';
import { concurrencyLimit } from './concurrency-limit.ts';
import { requestReader } from './request-reader.ts';

const requestsMax = 500;

/**
 * The limit and the readers behind it, with a clock that the test sets. `ask` starts a request of an organization and
 * leaves its response unread.
 */
function createLimit() {
  const state = { nowMs: 0, isMemoryHalfUsed: false, readersEnded: 0 };
  const limit = concurrencyLimit({
    requestsMax,
    budget: { isHalfUsed: () => state.isMemoryHalfUsed },
    nowMs: () => state.nowMs,
  });
  const openReader = () =>
    ({
      end: () => {
        state.readersEnded += 1;
      },
    }) as unknown as StoreReader;
  const read = requestReader({ openReader });
  const ask = (orgId: string, { keyId = '', responseBytes = 0, hasLeft = false } = {}) => {
    const res = Object.assign(new EventEmitter(), {
      closed: hasLeft,
      destroy: () => {
        res.closed = true;
        res.emit('close');
      },
    });
    const requestState = { caller: { orgId, keyId }, snapshot: {}, responseBytes };
    const context = { res, state: requestState } as unknown as Context;
    let isAdmitted = false;
    void limit(context, async () => {
      isAdmitted = true;
      await read(context, async () => undefined);
    });
    return { res, isAdmitted };
  };
  /** The response of a request; null if the limit refuses the request. */
  const tryAsk = (...request: Parameters<typeof ask>) => {
    try {
      return ask(...request).res;
    } catch (error) {
      if (error instanceof Overloaded) return null;
      throw error;
    }
  };
  /**
   * Starts as many requests of an organization as are admitted, each with a key of its own unless `options` names one.
   */
  const fill = (orgId: string, options: Parameters<typeof ask>[1] = {}) => {
    const responses = [];
    let next = tryAsk(orgId, { keyId: 'key_0', ...options });
    while (next) {
      responses.push(next);
      next = tryAsk(orgId, { keyId: `key_${responses.length}`, ...options });
    }
    return responses;
  };
  return { state, ask, fill };
}

describe('the requests in progress', () => {
  test('are at most the limit', () => {
    const { ask, fill } = createLimit();
    const all = Array.from({ length: 100 }, (_, org) => fill(`org_${org}`)).flat();
    expect(all).toHaveLength(requestsMax);
    expect(() => ask('org_next')).toThrow(Overloaded);
    all[0]?.destroy();
    expect(ask('org_next').isAdmitted).toBe(true);
  });

  test('of one organization are at most a quarter of the limit', () => {
    const { ask, fill, state } = createLimit();
    for (let times = 0; times < 10; times += 1) ask('org_1', { hasLeft: true });
    expect(fill('org_1')).toHaveLength(requestsMax / 4);
    expect(state.readersEnded).toBe(0);
  });
});

describe('a response that its client takes slowly', () => {
  const closedOf = (responses: { closed: boolean }[]) => responses.filter(({ closed }) => closed).length;
  const responseBytes = 10 * 65_536;

  test('is closed after a minute and a second for each 64 kB while half of the capacity is used', () => {
    const { ask, fill, state } = createLimit();
    const slow = ['org_1', 'org_2', 'org_3'].flatMap((orgId) => fill(orgId, { responseBytes }));
    // 60 s, and 10 s for 10 × 64 kB.
    state.nowMs = 70_000;
    ask('org_next');
    expect(closedOf(slow)).toBe(0);
    expect(state.readersEnded).toBe(0);
    state.nowMs += 1;
    ask('org_next');
    expect(closedOf(slow)).toBe(slow.length);
    expect(state.readersEnded).toBe(slow.length);
    expect(fill('org_1')).toHaveLength(requestsMax / 4);
  });

  test('is closed only if half of the requests or half of the memory is used', () => {
    const { ask, fill, state } = createLimit();
    const slow = fill('org_1');
    state.nowMs = 3_600_000;
    ask('org_next');
    expect(closedOf(slow)).toBe(0);
    state.isMemoryHalfUsed = true;
    ask('org_next');
    expect(closedOf(slow)).toBe(slow.length);
  });
});
