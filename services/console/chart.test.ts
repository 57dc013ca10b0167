import { lagChart } from './chart.ts';
import { createSamples, keptMs, sampleEveryMs } from './samples.ts';

const now = Date.parse('2026-11-23T12:00:00Z');
const path = (html: string) => /class="line" d="([^"]*)"/.exec(html)?.[1] ?? '';

test('samples older than an hour are forgotten', () => {
  const samples = createSamples();
  for (let atMs = now - 2 * keptMs; atMs <= now; atMs += sampleEveryMs) samples.add({ atMs, lagSeconds: 1 });
  expect(samples.all()).toHaveLength(keptMs / sampleEveryMs);
  expect(samples.all()[0]?.atMs).toBeGreaterThan(now - keptMs);
});

test('the line has a gap for every time at which the lag was not known', () => {
  const lags = [1, 2, null, null, 90, 3];
  const samples = lags.map((lagSeconds, index) => ({ atMs: now - (5 - index) * sampleEveryMs, lagSeconds }));
  const { html } = lagChart(samples, now);
  expect(path(html).match(/[ML]/g)).toEqual(['M', 'L', 'M', 'L']);
  expect(html).toContain('At most 90 s, at 11:59:50 UTC; now 3 s.');
});

test('a chart without samples says so', () => {
  const { html } = lagChart([], now);
  expect(path(html)).toBe('');
  expect(html).toContain('No lag is known yet.');
});

test('a lag that is not known now is not shown as the last known one', () => {
  const samples = [90, null].map((lagSeconds, index) => ({
    atMs: now - (1 - index) * sampleEveryMs,
    lagSeconds,
  }));
  expect(lagChart(samples, now).html).toContain('now unknown.');
});
