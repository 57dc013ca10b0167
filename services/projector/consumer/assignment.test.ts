import { pino } from 'pino';
import { createAssignment, type Assignment, type AssignmentDeps } from './assignment.ts';
import { createPositions, type Positions } from './positions.ts';

const megabyte = 1024 * 1024;

const assignmentOf = (positions: Positions, apply: AssignmentDeps['apply']): Assignment =>
  createAssignment({
    ...{ queuedBytesMax: 16 * megabyte, apply, positions, prerequisitesOf: () => [] },
    ...{ onApplied: () => undefined, logger: pino({ level: 'silent' }) },
  });

it('stuck partitions do not keep another partition from being resumed', async () => {
  // given 31 stuck partitions and a free one
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const assignment = assignmentOf(
    createPositions(() => 0),
    async (topic) => {
      if (topic === 'stuck') await released;
      return { events: 0, rejected: 0, times: [] };
    },
  );
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

it('a batch without a record, of control records alone, moves the position that others wait for', async () => {
  const positions = createPositions(() => 0);
  const assignment = assignmentOf(positions, () => Promise.reject(new Error('there is nothing to apply')));
  const [worker] = assignment.replace({ contacts: [0] });
  if (!worker) throw new Error('nothing is assigned');
  worker.start(7);
  assignment.enqueue(worker, { records: [], nextOffset: 8, bytes: 0 }, () => () => undefined);
  await new Promise((resolve) => setImmediate(resolve));
  expect(positions.isApplied('contacts/0', 7)).toBe(true);
  await worker.stop(0);
});

it('a partition is not fetched on while a batch of it waits for the load, and is after that', async () => {
  const positions = createPositions(() => 0);
  positions.load(new Map([['tags/0', 5]]));
  const assignment = assignmentOf(positions, async () => ({
    events: 0,
    rejected: 0,
    times: [],
  }));
  const [worker] = assignment.replace({ tags: [0] });
  if (!worker) throw new Error('nothing is assigned');
  worker.start(4);
  let isPaused = false;
  const fetch = (offset: number) => {
    const position = { partition: 0, offset, timestampMs: 0 };
    const records = [{ key: null, value: null, headers: {}, position }];
    assignment.enqueue(worker, { records, nextOffset: offset + 1, bytes: 100 }, () => {
      isPaused = true;
      return () => (isPaused = false);
    });
  };
  fetch(4);
  expect(isPaused).toBe(false);
  while (worker.position !== 5) await new Promise((resolve) => setImmediate(resolve));
  fetch(5);
  await new Promise((resolve) => setImmediate(resolve));
  expect([isPaused, worker.position]).toEqual([true, 5]);
  positions.load(null);
  while (isPaused) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(worker.position).toBe(6);
  await worker.stop(0);
});
