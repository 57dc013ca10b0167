import { topicAuthorizationFailed, topicsRefused } from './protocol-errors.ts';

/** The internal parts of kafkajs that need a leader for each partition. */
export type LeaderParts = {
  metadata: { protocol: (options: { version: number }) => (request: object) => MetadataCall };
  offsetManager: { prototype: OffsetManager };
};

type MetadataCall = { request: unknown; response: { parse: (data: Metadata) => Promise<Metadata> } };
type Metadata = { topicMetadata: TopicMetadata[] };
type TopicMetadata = {
  topic: string;
  topicErrorCode: number;
  partitionMetadata: { partitionErrorCode: number; leader: number }[];
};
type OffsetManager = {
  memberAssignment: Record<string, number[]>;
  committedOffsets: () => Record<string, Record<number, string>>;
  resolveOffsets: () => Promise<void>;
};

const leaderNotAvailable = 5;

/**
 * kafkajs rejects the metadata of all topics while one partition has no leader, and so fetches nothing, joins no group
 * and reads no offsets. The patch lets such a partition wait alone: its leader is -1, a broker that is never fetched
 * from. An error about missing permissions names the topics.
 */
export function tolerateMissingLeaders({ metadata, offsetManager: { prototype } }: LeaderParts): void {
  const protocol = metadata.protocol.bind(metadata);
  metadata.protocol = (options) => {
    const create = protocol(options);
    return (request) => {
      const { response, ...call } = create(request);
      const parse = (data: Metadata) => {
        const refused = data.topicMetadata.filter((one) => one.topicErrorCode === topicAuthorizationFailed);
        if (refused.length > 0) throw topicsRefused(refused.map(({ topic }) => topic));
        return response.parse({ ...data, topicMetadata: data.topicMetadata.map(accept) });
      };
      return { ...call, response: { ...response, parse } };
    };
  };
  // Each fetch would look up the offsets of all partitions without a committed one, those without a leader too. The
  // projector seeks before it fetches a partition, so that any value serves.
  prototype.resolveOffsets = async function () {
    const committed = this.committedOffsets();
    for (const [topic, partitions] of Object.entries(this.memberAssignment))
      for (const partition of partitions) (committed[topic] ??= {})[partition] ??= '0';
  };
}

const accept = (topic: TopicMetadata): TopicMetadata => ({
  ...topic,
  partitionMetadata: topic.partitionMetadata.map((partition) =>
    partition.partitionErrorCode === leaderNotAvailable
      ? { ...partition, partitionErrorCode: 0, leader: -1 }
      : partition,
  ),
});
