import { partitionFacts } from '../../tests/support/facts.ts';
import type { PartitionFacts } from './partitions.ts';
import { progressText } from './progress-text.ts';

describe('the progress of a partition', () => {
  const partitionWith = (changes: Partial<PartitionFacts> = {}): PartitionFacts => ({
    ...partitionFacts,
    topic: 'support.conversations',
    lag: 499,
    lagSeconds: 20,
    cause: 'backlog',
    waitingSince: new Date(0),
    ...changes,
  });
  // A conversation refers to both. The text names the one with more time left.
  const slower = partitionWith({ topic: 'support.contacts', secondsLeft: 12 });
  const faster = partitionWith({ topic: 'support.channels', secondsLeft: 2 });
  const textFor = (changes: Partial<PartitionFacts>) =>
    progressText(partitionWith(changes), [partitionWith(), faster, slower]);

  test.each<[string, Partial<PartitionFacts>, string]>([
    ['without records', { lag: 0, cause: null }, 'follows'],
    ['without records or a projector', { lag: 0, cause: 'unassigned' }, 'no projector applies a partition'],
    ['with a lag of seconds', { lag: 2, lagSeconds: 3 }, 'follows'],
    ['waiting for a prerequisite', { cause: 'prerequisites' }, 'waits for support.contacts (12 s left)'],
    ['in a fan-out', { cause: 'fan_out' }, 'the dependents of a changed entity are refreshed'],
    [
      'behind an open transaction',
      { cause: 'open_transaction' },
      'a transaction of a producer is open, and hides the records behind it, since 1970-01-01T00:00:00.000Z or before',
    ],
    ['behind a short transaction', { cause: 'open_transaction', lagSeconds: 3 }, 'follows'],
    [
      'with a broker that delivers nothing',
      { cause: 'undelivered' },
      'the broker has not delivered the next records: a quota may throttle this client',
    ],
    [
      'behind a quota',
      { cause: 'undelivered', throttledMs: 23_400 },
      'the broker has not delivered the next records: a quota throttles this client, by 23400 ms',
    ],
    [
      'with one batch after another',
      { cause: 'undelivered', recordsPerSecond: 5, secondsLeft: 90 },
      'applies 5 records a second (90 s left)',
    ],
    ['with records that have just come', { cause: 'undelivered', lagSeconds: 3 }, 'follows'],
    ['with a backlog', { recordsPerSecond: 1.2, secondsLeft: 400 }, 'applies 1 record a second (400 s left)'],
    ['in a chunk', {}, 'applies a chunk'],
    [
      'without a start offset',
      { cause: 'starting' },
      'the projector has not found the start offset of a partition yet',
    ],
    [
      'of a member that saves no progress',
      { cause: 'starting', owner: { memberId: 'm-1', clientId: 'm', host: 'h' } },
      'member m-1 on h has it, but saves no progress of it here',
    ],
    ['without a known cause', { cause: null }, 'stands still'],
  ])('%s', (_, changes, expected) => {
    expect(textFor(changes)).toBe(expected);
  });
});
