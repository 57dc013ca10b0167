import { parsePartitionKey } from '../control/topic-partition.ts';
import { errorMessage } from '../runtime/error-message.ts';
import { classify } from './errors.ts';
import type { ErrorMessage, ThrottleMessage } from './fetch-decoder.ts';
import { memberMetadata } from './group-members.ts';
import { type Broker, requestCreator } from './kafkajs-protocol.ts';
import { noLeader } from './metadata.ts';
import { createErrorFromCode, protocolErrorText, refusedTopics, topicsRefused } from './protocol-errors.ts';

/** The parts of a kafkajs 2.2.4 cluster and broker that are used here; the types of the package do not include them. */
type FetchingCluster = { findBroker: (named: { nodeId: string }) => Promise<object> };
type Fetch = (options: {
  maxWaitTime: number;
  minBytes: number;
  maxBytes: number;
  topics: { topic: string; partitions: { partition: number; fetchOffset: string; maxBytes: number }[] }[];
}) => Promise<FetchResponse>;
type FetchResponse = { responses: { topicName: string; partitions: { messages: Message[] }[] }[] };
type Message = Partial<ErrorMessage> & Partial<ThrottleMessage>;
export type JoiningCluster = { findGroupCoordinator: (group: { groupId: string }) => Promise<Broker> };

/**
 * The limits of a fetch to which a broker answers immediately, without records: the fetch starts at the end of the log.
 */
const limitsAtEnd = { maxWaitTime: 0, minBytes: 1, maxBytes: 1 };

/** The logs as the brokers report them, by `<topic>/<partition>`. */
type ReportedLogs = {
  ends: Ends;
  leaders: ReadonlyMap<string, number>;
  unreachable: { broker: string; error: unknown }[];
};
type Ends = ReadonlyMap<string, { end: number }>;

/**
 * Fetches from the end of one partition of each topic, which needs the right Read. Rejects if a broker refuses that,
 * and names the topics. Returns why each other topic could not be tried.
 */
export async function tryFetch(
  cluster: FetchingCluster,
  topics: string[],
  { ends, leaders, unreachable }: ReportedLogs,
): Promise<Map<string, string>> {
  const keyByTopic = new Map([...ends.keys()].map((key) => [parsePartitionKey(key).topic, key]));
  const silentBrokers = unreachable.map(({ broker, error }) => `broker ${broker}: ${errorMessage(error)}`);
  const noAnswer = ['no leader of a partition answers', ...silentBrokers].join('; ');
  const untried = new Map<string, string>();
  for (const topic of topics) {
    if (!keyByTopic.has(topic)) untried.set(topic, noAnswer);
  }
  const refused: string[] = [];
  const keysByLeader = Map.groupBy(keyByTopic.values(), (key) => leaders.get(key) ?? noLeader);
  for (const [nodeId, keys] of keysByLeader) {
    try {
      const broker = (await cluster.findBroker({ nodeId: String(nodeId) })) as { fetch: Fetch };
      const fetched = await broker.fetch({ ...limitsAtEnd, topics: keys.map((key) => endOf(key, ends)) });
      for (const [topic, reason] of failuresIn(fetched)) untried.set(topic, reason);
    } catch (error) {
      const topicsInError = refusedTopics(error);
      refused.push(...topicsInError);
      if (topicsInError.length > 0) continue;
      if (classify(error).errorClass === 'unauthorized') throw error;
      for (const key of keys) untried.set(parsePartitionKey(key).topic, errorMessage(error));
    }
  }
  if (refused.length > 0) throw topicsRefused(refused);
  return untried;
}

/** The topics with a partition that could not be read, each with the first reason. */
function failuresIn({ responses }: FetchResponse): Map<string, string> {
  const failures = new Map<string, string>();
  for (const { topicName, partitions } of responses) {
    const messages = partitions.flatMap((partition) => partition.messages);
    const [reason] = messages.flatMap((message) => reasonIn(message) ?? []);
    if (reason !== undefined) failures.set(topicName, reason);
  }
  return failures;
}

/** The reason in a message that stands for an unread partition. A throttled answer does not show a missing right. */
function reasonIn({ error, throttledMs }: Message): string | null {
  if (error) return protocolErrorText(error);
  return throttledMs === undefined ? null : `a quota throttles this client, by ${throttledMs} ms`;
}

function endOf(key: string, ends: Ends) {
  const { topic, partition } = parsePartitionKey(key);
  const fetchOffset = String(ends.get(key)?.end ?? 0);
  return { topic, partitions: [{ partition, fetchOffset, maxBytes: 1 }] };
}

/** A projector, as it joins its group. */
export type JoiningMember = {
  groupId: string;
  /** See `protocolOf`. */
  protocol: string;
  topics: string[];
  sessionTimeoutMs: number;
  /** A group with members refuses a member of another type than theirs. */
  type?: string;
};

type JoinResponse = { errorCode: number; memberId: string };
type JoinRequest = {
  groupId: string;
  sessionTimeout: number;
  rebalanceTimeout: number;
  memberId: string;
  protocolType: string;
  groupProtocols: { name: string; metadata: Buffer }[];
};
type LeaveRequest = { groupId: string; memberId: string };

/** JoinGroup 5 and LeaveGroup 3 (Kafka 2.4 and later). From JoinGroup 4 on, a member joins by two requests. */
const createJoin = requestCreator<JoinRequest, JoinResponse>('joinGroup', 5);
const createLeave = requestCreator<LeaveRequest, unknown>('leaveGroup', 3);

/** Kafka's code for a member that has passed all checks, and must join again with the id in this answer. */
const memberIdRequired = 79;

/**
 * Sends the first of the two requests by which a member joins its group. The coordinator checks the rights, the session
 * timeout and the protocol of the member, and gives it an id. The group rebalances only after the second request.
 */
export async function tryJoin(cluster: JoiningCluster, member: JoiningMember): Promise<void> {
  const { groupId, protocol, topics, sessionTimeoutMs, type = 'consumer' } = member;
  const coordinator = await cluster.findGroupCoordinator({ groupId });
  const { request, response } = createJoin({
    groupId,
    sessionTimeout: sessionTimeoutMs,
    rebalanceTimeout: sessionTimeoutMs,
    memberId: '',
    protocolType: type,
    groupProtocols: [{ name: protocol, metadata: memberMetadata(topics) }],
  });
  const withErrors = { decode: response.decode, parse: async (joined: JoinResponse) => joined };
  const { errorCode, memberId } = await coordinator.connectionPool.send({ request, response: withErrors });
  if (errorCode !== 0 && errorCode !== memberIdRequired) throw createErrorFromCode(errorCode);
  // Without this request, the next rebalance would wait for the member. The answer does not matter, because the
  // coordinator may already have removed the member.
  const leave = createLeave({ groupId, memberId });
  await coordinator.connectionPool.send({
    request: leave.request,
    response: { decode: leave.response.decode, parse: async (left: unknown) => left },
  });
}
