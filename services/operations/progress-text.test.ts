import type { PartitionFacts } from './partitions.ts';
import { progressText } from './progress-text.ts';

describe('a partition', () => {
  const partition = (changes: Partial<PartitionFacts> = {}): PartitionFacts => ({
    topic: 'support.conversations',
    partition: 0,
    applied: 1,
    position: 1,
    end: 500,
    lag: 499,
    lagSeconds: 20,
    recordsPerSecond: 0,
    secondsLeft: null,
    cause: 'backlog',
    owner: null,
    release: null,
    ...changes,
  });
  const contacts = partition({ topic: 'support.contacts', secondsLeft: 12 });
  const text = (changes: Partial<PartitionFacts>) =>
    progressText(partition(changes), [partition(), contacts]);

  test.each<[string, Partial<PartitionFacts>, string]>([
    ['without records', { lag: 0 }, 'follows'],
    ['with a lag of seconds', { lag: 2, lagSeconds: 3 }, 'follows'],
    ['that waits on purpose', { cause: 'prerequisites' }, 'waits for support.contacts (12 s left)'],
    ['in a fan-out', { cause: 'fan_out' }, 'the dependents of a changed entity are refreshed'],
    ['without a projector', { cause: 'unassigned' }, 'no projector applies a partition'],
    ['with a backlog', { recordsPerSecond: 1.2, secondsLeft: 400 }, 'applies 1 record a second (400 s left)'],
    ['in a batch', {}, 'applies a batch'],
    ['of which nothing is known', { cause: null }, 'stands still'],
  ])('%s', (_, changes, says) => {
    expect(text(changes)).toBe(says);
  });
});
