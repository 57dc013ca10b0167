import { within } from './within.ts';

test('a deadline is over with the work, and leaves no timer', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  expect(await within(60_000, Promise.resolve('done'), () => 'late')).toBe('done');
  expect(timers()).toBe(before);
  expect(await within(1, new Promise<never>(() => undefined), () => 'late')).toBe('late');
});
