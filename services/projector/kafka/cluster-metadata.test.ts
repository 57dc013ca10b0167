import { mergeTopics } from './cluster-metadata.ts';
import type { TopicMetadata } from './metadata.ts';

const topic = (leaders: [leader: number, leaderEpoch: number][], changes: Partial<TopicMetadata> = {}) => ({
  ...{ errorCode: 0, topic: 't', topicId: 'a'.repeat(32) },
  partitions: leaders.map(([leader, leaderEpoch], partition) => ({ partition, leader, leaderEpoch })),
  ...changes,
});
const merge = (...topics: TopicMetadata[]) => {
  const { leaders, topicIds } = mergeTopics(topics.map((one) => ({ brokers: [], topics: [one] })));
  return { leaders: Object.fromEntries(leaders), topicIds: Object.fromEntries(topicIds) };
};

describe('the metadata of several brokers', () => {
  const topicIds = { t: 'a'.repeat(32) };

  it('has each partition that one of them knows, with its latest leader', () => {
    const [old, recent] = [
      topic([[1, 4]]),
      topic([
        [2, 5],
        [3, 0],
      ]),
    ];
    const leaders = { 't/0': 2, 't/1': 3 };
    expect(merge(old, recent)).toEqual({ leaders, topicIds });
    expect(merge(recent, old)).toEqual({ leaders, topicIds });
  });

  it('leaves out what a broker does not know yet, and rejects what may not be read', () => {
    const [unknown, forbidden] = [topic([], { errorCode: 3 }), topic([], { errorCode: 29 })];
    expect(merge(unknown, topic([[1, 0]]))).toEqual({ leaders: { 't/0': 1 }, topicIds });
    expect(() => merge(forbidden)).toThrow('Not authorized');
  });

  it('has neither id nor leaders of a topic whose id they disagree on', () => {
    const recreated = topic([[1, 0]], { topicId: 'b'.repeat(32) });
    expect(
      merge(
        topic([
          [1, 4],
          [1, 2],
        ]),
        recreated,
      ),
    ).toEqual({ leaders: { 't/0': -1, 't/1': -1 }, topicIds: {} });
  });

  it('has no id of a topic that was created before brokers assigned ids', () => {
    const old = topic([[1, 4]], { topicId: '0'.repeat(32) });
    expect(merge(old)).toEqual({ leaders: { 't/0': 1 }, topicIds: {} });
  });
});
