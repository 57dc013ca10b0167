import { waitUntil } from './wait-until.ts';

it('a start whose error is no outage tries again, since projectors that start together may collide', async () => {
  const waits: string[] = [];
  let attempts = 0;
  const started = waitUntil(
    (condition, reason) => waits.push(`${condition}: ${reason}`),
    'MongoDB is unavailable',
    async () => {
      attempts += 1;
      if (attempts === 1) throw new Error('the index exists');
      return 'started';
    },
  );
  expect(await started).toBe('started');
  expect(waits).toEqual(['refused; trying again: the index exists']);
});
