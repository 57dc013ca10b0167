import { pino } from 'pino';
import type { HoldCause } from '../../../shared/control/hold-causes.ts';
import type { Snapshot } from '../partition/snapshot.ts';
import { createDeliveryLog } from './delivery-log.ts';

/** The lines of a partition with records, for each second of `causes`. */
function linesOf(causes: HoldCause[], position = (_second: number) => 5): object[] {
  const lines: object[] = [];
  const logger = pino(
    { level: 'warn' },
    { write: (line: string) => void lines.push(JSON.parse(line) as object) },
  );
  const log = createDeliveryLog({ logger });
  for (const [second, cause] of causes.entries()) {
    const partition = { topic: 'tags', partition: 0, position: position(second), cause } as Snapshot;
    log(second * 1_000, [partition], new Map([['tags/0', { end: 99 }]]));
  }
  return lines;
}

const seconds = (count: number, cause: HoldCause): HoldCause[] => Array.from({ length: count }, () => cause);

test.each<HoldCause>(['undelivered', 'new_leader'])(
  'a wait of half a minute is logged once as %s',
  (cause) => {
    expect(linesOf(seconds(120, cause))).toMatchObject([
      { topic: 'tags', partition: 0, position: 5, end: 99, cause },
    ]);
  },
);

test.each<{ name: string; causes: HoldCause[]; position?: (second: number) => number }>([
  { name: 'a shorter wait', causes: seconds(30, 'undelivered') },
  { name: 'a partition that moves', causes: seconds(90, 'undelivered'), position: (second) => second },
  { name: 'a partition without further records', causes: seconds(120, 'undelivered'), position: () => 99 },
  { name: 'another cause', causes: seconds(120, 'backlog') },
])('$name is not logged', ({ causes, position }) => {
  expect(linesOf(causes, position)).toEqual([]);
});
