import { pino } from 'pino';
import { createAssignment } from './assignment.ts';
import { createPositions } from './positions.ts';

const megabyte = 1024 * 1024;

it('partitions whose work is stuck keep no other from being fetched again', async () => {
  // given as many stuck partitions as can be, while others still go on
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
  const partitions = assignment.replace({
    stuck: Array.from({ length: 31 }, (_, index) => index),
    free: [0],
  });
  const paused = new Set<string>();
  const fill = (key: string) => {
    const partition = assignment.get(key);
    if (!partition) throw new Error(`${key} is not assigned`);
    const position = { partition: 0, offset: 0, timestampMs: 0 };
    const records = [{ key: null, value: null, headers: {}, position }];
    assignment.queue(partition, { records, nextOffset: 1, bytes: megabyte }, () => {
      paused.add(key);
      return () => paused.delete(key);
    });
  };
  for (const partition of partitions) partition.start(0);
  // when all of them are fetched until they are full
  for (let index = 0; index < 31; index += 1) fill(`stuck/${index}`);
  fill('free/0');
  expect(paused.size).toBe(32);
  await new Promise((resolve) => setImmediate(resolve));
  // then the one that goes on is fetched again
  expect(paused.has('free/0')).toBe(false);
  expect(paused.size).toBe(31);
  release();
  await Promise.all(partitions.map((partition) => partition.stop(0)));
});
