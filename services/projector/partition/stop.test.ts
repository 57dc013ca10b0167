import { MongoNetworkError } from 'mongodb';
import { idle } from '../../../tests/support/idle.ts';
import { received, startPartition } from '../../../tests/support/start-partition.ts';
import { batch, createTestPartition } from '../../../tests/support/test-partition.ts';

test('a stopped partition finishes its batch and starts no other one', async () => {
  const { partition, attempts, attempt } = createTestPartition();
  const first = await attempt(0);
  partition.receive(received([batch(9, 9)], 10));
  const stopped = partition.stop(3_600_000);
  first.end();
  await stopped;
  expect({ attempts: attempts.length, position: partition.position }).toEqual({ attempts: 1, position: 9 });
});

test('a stopped partition aborts `stopping` immediately and `signal` only after the grace', async () => {
  const { partition, attempt } = createTestPartition();
  const { stopping, signal, fail } = await attempt(0);
  stopping?.addEventListener('abort', () => fail());
  await partition.stop(3_600_000);
  expect({ isStopping: stopping?.aborted, isLost: signal.aborted, position: partition.position }).toEqual({
    isStopping: true,
    isLost: false,
    position: 5,
  });
});

test('a partition that is stopped between two attempts makes no further attempt', async () => {
  const attempted = Promise.withResolvers<void>();
  let attempts = 0;
  const partition = startPartition(5, {
    apply: () => {
      attempts += 1;
      attempted.resolve();
      return Promise.reject(new MongoNetworkError('away'));
    },
    retryDelayMs: 10_000,
  });
  partition.receive(received([batch(5, 5)], 6));
  await attempted.promise;
  await idle();
  await partition.stop(3_600_000);
  expect({ attempts, position: partition.position }).toEqual({ attempts: 1, position: 5 });
});
