import { oldestTimestampMs } from './snapshot.ts';

describe('the oldest pending record', () => {
  const published = (timestampMs: number) => ({
    ...{ key: null, value: null, headers: {} },
    position: { partition: 0, offset: 0, timestampMs },
  });

  it.each<[string, number[], number | null, number | null]>([
    ['is null if no record is pending', [], null, null],
    ['counts by its Kafka timestamp', [7, 8], 7, 7],
    ['counts by the time of the first event, if that is earlier', [7, 8], 5, 5],
    ['may come after a record with a fast clock', [99, 8, 9], 99, 8],
    ['need not be a valid event', [7, 8], null, 7],
  ])('%s', (_, timestamps, firstMs, expected) => {
    expect(oldestTimestampMs(timestamps.map(published), () => firstMs)).toBe(expected);
  });
});
