import { dayMs } from '../../../shared/documents/retention.ts';
import { topicWarnings } from './topic-settings.ts';

const good = { topic: 't', cleanupPolicy: 'compact', deleteRetentionMs: 7 * dayMs };

describe('cli status', () => {
  it.each([
    ['a compacted topic that keeps tombstones for longer than a rebuild takes', good],
    ['one that keeps them for just as long', { ...good, deleteRetentionMs: 3 * dayMs }],
    ['one that is bounded by time, too', { ...good, cleanupPolicy: 'compact,delete' }],
  ])('has nothing to say of %s', (_, settings) => {
    expect(topicWarnings([settings], 3)).toEqual([]);
  });

  it.each([
    ['drops tombstones sooner', { ...good, deleteRetentionMs: dayMs }, /^t: drops tombstones after 1 days/],
    ['is not compacted', { ...good, cleanupPolicy: 'delete' }, /^t: is not compacted/],
    ['cannot be read', { ...good, cleanupPolicy: null }, /^t: the brokers do not tell/],
  ])('warns of a topic that %s', (_, settings, warning) => {
    const warnings = topicWarnings([good, settings], 3);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(warning);
  });
});
