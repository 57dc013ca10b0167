import { pino } from 'pino';
import { createUnreadLog } from './unread-log.ts';

const cannotBeRead = 'the ends of some logs cannot be read; Data-As-Of stands still';
const readAgain = 'the ends of all logs can be read again';
const partitions = ['tags/0', 'tags/1'];

/** One second: the partitions without an end, and the brokers that do not answer. */
type Second = { unread?: string[]; brokers?: string[] };

/** The logged lines of each second. */
function linesOf(seconds: Second[]) {
  const lines: object[] = [];
  let second = 0;
  const write = (line: string) => {
    const { msg, count } = JSON.parse(line) as { msg: string; count?: number };
    lines.push({ second, msg, count });
  };
  const log = createUnreadLog({ logger: pino({ level: 'info' }, { write }) });
  for (const [index, { unread = [], brokers = [] }] of seconds.entries()) {
    second = index;
    const read = partitions.filter((key) => !unread.includes(key));
    const ends = new Map(read.map((key) => [key, { low: 0, end: 1, stable: 1 }]));
    log({ ends, unreachable: brokers.map((broker) => ({ broker, error: new Error('away') })) }, partitions);
  }
  return lines;
}

const oneUnread: Second = { unread: ['tags/0'] };

test.each<{ name: string; seconds: Second[]; lines: object[] }>([
  { name: 'nothing while all can be read', seconds: [{}, {}], lines: [] },
  {
    name: 'its start and its end',
    seconds: [{}, oneUnread, oneUnread, oneUnread, {}, {}],
    lines: [
      { second: 1, msg: cannotBeRead, count: 1 },
      { second: 4, msg: readAgain },
    ],
  },
  {
    name: 'a further partition or broker',
    seconds: [oneUnread, { ...oneUnread, brokers: ['2'] }, { unread: partitions, brokers: ['2'] }],
    lines: [
      { second: 0, msg: cannotBeRead, count: 1 },
      { second: 1, msg: cannotBeRead, count: 1 },
      { second: 2, msg: cannotBeRead, count: 2 },
    ],
  },
  {
    name: 'once a partition that comes and goes',
    seconds: [oneUnread, { unread: partitions }, oneUnread, { unread: partitions }, oneUnread],
    lines: [
      { second: 0, msg: cannotBeRead, count: 1 },
      { second: 1, msg: cannotBeRead, count: 2 },
    ],
  },
  {
    name: 'the next start',
    seconds: [oneUnread, {}, oneUnread],
    lines: [
      { second: 0, msg: cannotBeRead, count: 1 },
      { second: 1, msg: readAgain },
      { second: 2, msg: cannotBeRead, count: 1 },
    ],
  },
])('the log has $name', ({ seconds, lines }) => {
  expect(linesOf(seconds)).toEqual(lines);
});
