import { dayMs } from '../../../shared/documents/retention.ts';
import { topicWarnings } from './topic-settings.ts';

const good = { topic: 't', cleanupPolicy: 'compact', deleteRetentionMs: 7 * dayMs };

describe('cli status', () => {
  it.each([
    ['a compacted topic that keeps tombstones longer than a rebuild takes', good],
    ['a compacted topic that keeps them exactly as long', { ...good, deleteRetentionMs: 3 * dayMs }],
    ['a compacted topic that also has a retention time', { ...good, cleanupPolicy: 'compact,delete' }],
  ])('does not warn about %s', (_, settings) => {
    expect(topicWarnings([settings], 3)).toEqual([]);
  });

  it.each([
    ['drops tombstones sooner', { ...good, deleteRetentionMs: dayMs }, /^t: drops tombstones after 1 day /],
    ['is not compacted', { ...good, cleanupPolicy: 'delete' }, /^t: is not compacted/],
    ['has unknown settings', { ...good, cleanupPolicy: null }, /^t: the brokers did not return/],
  ])('warns about a topic that %s', (_, settings, warning) => {
    const warnings = topicWarnings([good, settings], 3);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(warning);
  });
});
