import type { Consumer } from 'kafkajs';
import { pino } from 'pino';
import { rawBatch } from '../../../tests/support/example-responses.ts';
import { createAssignment } from './assignment.ts';
import type { Applied } from './partition-worker.ts';
import { createPositions } from './positions.ts';

it('once it stops, no partition is fetched, while a batch ends and after that', async () => {
  const fetched = new Set<string>();
  const [begun, batch] = [Promise.withResolvers<void>(), Promise.withResolvers<Applied>()];
  const change = (by: 'add' | 'delete') => (topics: Parameters<Consumer['resume']>[0]) =>
    topics.forEach(({ topic, partitions }) => partitions?.forEach((one) => fetched[by](`${topic}/${one}`)));
  const assignment = createAssignment(
    {
      queuedBytesMax: 1_000_000,
      apply: () => {
        begun.resolve();
        return batch.promise;
      },
      positions: createPositions(() => 0),
      prerequisitesOf: () => [],
      onApplied: () => undefined,
      logger: pino({ level: 'silent' }),
    },
    { pause: change('delete'), resume: change('add') },
  );
  const workers = assignment.replace({ t: [0, 1] }, 'member');
  for (const worker of workers) worker.start(0);
  for (const worker of workers) assignment.updateFetching(worker);
  expect([...fetched]).toEqual(['t/0', 't/1']);
  workers[0]?.push([rawBatch({ baseOffset: 0, lastOffset: 0, records: [{ offset: 0 }] })], 1);
  await begun.promise;
  const stopped = assignment.stop(3_600_000);
  expect([...fetched]).toEqual([]);
  batch.resolve({ events: 1, rejected: [], times: [] });
  await stopped;
  expect([workers[0]?.position, ...fetched]).toEqual([1]);
});
