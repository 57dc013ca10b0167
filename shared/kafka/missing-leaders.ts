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

/** The errors of partitions that have a leader nevertheless: none, and REPLICA_NOT_AVAILABLE. */
const ledDespite = [0, 9];

/**
 * kafkajs rejects the metadata of all topics while one partition has no leader, or one topic is unknown, and so fetches
 * nothing, joins no group and reads no offsets. The patch lets that part wait alone: the leader of such a partition is
 * -1, a broker that is never fetched from, and such a topic has no partitions. Metadata in which no topic is known is
 * still rejected. An error about missing permissions names the topics.
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
        const isSomeKnown = data.topicMetadata.some(({ topicErrorCode }) => topicErrorCode === 0);
        return response.parse(
          isSomeKnown ? { ...data, topicMetadata: data.topicMetadata.map(accept) } : data,
        );
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

function accept(topic: TopicMetadata): TopicMetadata {
  if (topic.topicErrorCode !== 0) return { ...topic, topicErrorCode: 0, partitionMetadata: [] };
  const partitionMetadata = topic.partitionMetadata.map((partition) => {
    const { partitionErrorCode, leader } = partition;
    const isLed = ledDespite.includes(partitionErrorCode);
    return { ...partition, partitionErrorCode: 0, leader: isLed ? leader : -1 };
  });
  return { ...topic, partitionMetadata };
}
