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
  const consume = (address: string) => limiter.consume(address).admitted;
  expect([consume('192.0.2.1'), consume('192.0.2.1')]).toEqual([true, true]);
  expect(logged()).toEqual([]);
  for (let failure = 0; failure < 10; failure += 1) consume('192.0.2.1');
  for (let failure = 0; failure < 10; failure += 1) consume('2001:db8::/64');
  expect(logged()).toEqual(['192.0.2.1', '2001:db8::/64']);
  clock.nowMs += 60_000;
  for (let failure = 0; failure < 3; failure += 1) consume('192.0.2.1');
  expect(logged()).toEqual(['192.0.2.1', '2001:db8::/64', '192.0.2.1']);
});
