import type { Logger } from '../../../shared/runtime/logger.ts';
import { createAuthFailureLimiter } from './auth-failure-limiter.ts';

test('the log names an address at its limit once in each window', () => {
  const warn = jest.fn<void, [{ address: string }]>();
  const logged = () => warn.mock.calls.map(([{ address }]) => address);
  const clock = { nowMs: 1_000 };
  const limiter = createAuthFailureLimiter({
    limit: { requests: 2, windowSeconds: 60 },
    nowMs: () => clock.nowMs,
    logger: { warn } as unknown as Logger,
  });
  /** Counts failures of an address. Returns whether the limiter admits each of them. */
  const fail = (address: string, times: number) =>
    Array.from({ length: times }, () => limiter.consume(address).admitted);
  expect(fail('192.0.2.1', 2)).toEqual([true, true]);
  expect(logged()).toEqual([]);
  fail('192.0.2.1', 10);
  fail('2001:db8::/64', 10);
  expect(logged()).toEqual(['192.0.2.1', '2001:db8::/64']);
  clock.nowMs += 60_000;
  fail('192.0.2.1', 3);
  expect(logged()).toEqual(['192.0.2.1', '2001:db8::/64', '192.0.2.1']);
});
