import { Counter } from 'prom-client';
import { startUnauthenticatedBudget } from './unauthenticated-budget.ts';

test('a flood without a key leaves a bounded number of lines a minute, and one that counts the others', async () => {
  jest.useFakeTimers();
  const lines: unknown[] = [];
  const logger = { warn: (...line: unknown[]) => void lines.push(line) };
  const lost = new Counter({ name: 'lost', help: 'lost', labelNames: ['reason'], registers: [] });
  const clock = { nowMs: 0 };
  const budget = startUnauthenticatedBudget({ lost, logger: logger as never, nowMs: () => clock.nowMs }, 3);
  const flood = () => Array.from({ length: 10 }, budget.admitUnauthenticated).filter(Boolean).length;
  expect(flood()).toBe(3);
  expect(lines).toEqual([]);
  await jest.advanceTimersByTimeAsync(60_000);
  clock.nowMs = 60_000;
  const report = (requests: number) => [{ requests }, 'requests without a key were left out of the log'];
  expect(lines).toEqual([report(7)]);
  expect(flood()).toBe(3);
  await budget.stop();
  expect(lines).toEqual([report(7), report(7)]);
  expect((await lost.get()).values).toMatchObject([
    { labels: { reason: 'unauthenticated_budget' }, value: 14 },
  ]);
  jest.useRealTimers();
});
