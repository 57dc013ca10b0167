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

/** The error codes of partitions that have a leader: 0 (no error), and 9 (REPLICA_NOT_AVAILABLE). */
const codesWithLeader = [0, 9];

/**
 * If one partition has no leader or one topic is unknown, kafkajs rejects all metadata, so it cannot fetch, join a
 * group or read offsets. The patch gives such a partition the leader -1, from which kafkajs never fetches, and such a
 * topic no partitions. Metadata without any known topic still fails. An error about missing permissions names the
 * topics.
 */
export function tolerateMissingLeaders({ metadata, offsetManager: { prototype } }: LeaderParts): void {
  const protocol = metadata.protocol.bind(metadata);
  metadata.protocol = (options) => {
    const create = protocol(options);
    return (request) => {
      const { response, ...call } = create(request);
      const parse = (data: Metadata) => {
        const refused = data.topicMetadata.filter(
          ({ topicErrorCode }) => topicErrorCode === topicAuthorizationFailed,
        );
        if (refused.length > 0) throw topicsRefused(refused.map(({ topic }) => topic));
        const isSomeKnown = data.topicMetadata.some(({ topicErrorCode }) => topicErrorCode === 0);
        return response.parse(
          isSomeKnown ? { ...data, topicMetadata: data.topicMetadata.map(accept) } : data,
        );
      };
      return { ...call, response: { ...response, parse } };
    };
  };
  // kafkajs would ask before each fetch for the offsets of all partitions without a committed offset, even of those
  // without a leader. The projector seeks before it fetches a partition, so any value is right.
  prototype.resolveOffsets = async function () {
    const committed = this.committedOffsets();
    for (const [topic, partitions] of Object.entries(this.memberAssignment)) {
      for (const partition of partitions) (committed[topic] ??= {})[partition] ??= '0';
    }
  };
}

function accept(topic: TopicMetadata): TopicMetadata {
  if (topic.topicErrorCode !== 0) return { ...topic, topicErrorCode: 0, partitionMetadata: [] };
  const partitionMetadata = topic.partitionMetadata.map((partition) => {
    const { partitionErrorCode, leader } = partition;
    const isLed = codesWithLeader.includes(partitionErrorCode);
    return { ...partition, partitionErrorCode: 0, leader: isLed ? leader : -1 };
  });
  return { ...topic, partitionMetadata };
}
