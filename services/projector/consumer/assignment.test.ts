import { pino } from 'pino';
import { createAssignment } from './assignment.ts';
import { createPositions } from './positions.ts';

const megabyte = 1024 * 1024;

it('stuck partitions do not keep another partition from being resumed', async () => {
  // given 31 stuck partitions and a free one
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const assignment = createAssignment({
    queuedBytesMax: 16 * megabyte,
    apply: async (topic) => {
      if (topic === 'stuck') await released;
      return { events: 0, rejected: 0, times: [], appliedToMs: null };
    },
    positions: createPositions(() => 0),
    prerequisitesOf: () => [],
    onApplied: () => undefined,
    logger: pino({ level: 'silent' }),
  });
  const workers = assignment.replace({
    stuck: Array.from({ length: 31 }, (_, index) => index),
    free: [0],
  });
  const paused = new Set<string>();
  const fill = (key: string) => {
    const worker = assignment.worker(key);
    if (!worker) throw new Error(`${key} is not assigned`);
    const position = { partition: 0, offset: 0, timestampMs: 0 };
    const records = [{ key: null, value: null, headers: {}, position }];
    assignment.enqueue(worker, { records, nextOffset: 1, bytes: megabyte }, () => {
      paused.add(key);
      return () => paused.delete(key);
    });
  };
  for (const worker of workers) worker.start(0);
  // when all of them are fetched until they pause
  for (let index = 0; index < 31; index += 1) fill(`stuck/${index}`);
  fill('free/0');
  expect(paused.size).toBe(32);
  await new Promise((resolve) => setImmediate(resolve));
  // then the free one is resumed
  expect(paused.has('free/0')).toBe(false);
  expect(paused.size).toBe(31);
  release();
  await Promise.all(workers.map((worker) => worker.stop(0)));
});
