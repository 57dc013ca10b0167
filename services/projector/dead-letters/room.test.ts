import { createDeadLetterRoom, roomLeft } from './room.ts';

const limits = { bytesMax: 100, countMax: 10 };

test.each([
  [{ bytes: 99, count: 9 }, 'whole'],
  [{ bytes: 100, count: 9 }, 'head'],
  [{ bytes: 200, count: 9 }, 'counted'],
  [{ bytes: 0, count: 10 }, 'counted'],
])('dead letters of %j leave room for the next one: %s', (size, room) => {
  expect(roomLeft(size, limits)).toBe(room);
});

test('dead letters of this process count at once, and those of others within seconds', async () => {
  let nowMs = 0;
  let measured = { bytes: 0, count: 0 };
  let measurements = 0;
  const measure = async () => {
    measurements += 1;
    return measured;
  };
  const room = createDeadLetterRoom(measure, limits, () => nowMs);
  expect(await room.left()).toBe('whole');
  room.add({ bytes: 150, count: 1 });
  expect(await room.left()).toBe('head');
  expect(measurements).toBe(1);
  measured = { bytes: 0, count: 10 };
  nowMs = 5_000;
  expect(await room.left()).toBe('counted');
  expect(measurements).toBe(2);
});

test('the size is measured again once a process has added 8 MB', async () => {
  let measurements = 0;
  const measure = async () => ({ bytes: (measurements += 1), count: 0 });
  const room = createDeadLetterRoom(measure, { bytesMax: 1e9, countMax: 10 }, () => 0);
  await room.left();
  room.add({ bytes: 8 * 1024 * 1024, count: 1 });
  await room.left();
  expect(measurements).toBe(2);
});
