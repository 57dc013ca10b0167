import type { LogClient } from '../kafka/log-client.ts';

/** What the brokers report of the logs: the offsets by `<topic>/<partition>`, and the topic ids by topic. */
export type LogState = {
  /** `low` is the first offset in the log, `end` the offset after the last committed record. */
  ends: Map<string, { low: number; end: number }>;
  topicIds: Map<string, string>;
};

/** Retention and operators rarely change start offsets and topic ids, so only every tenth read fetches them. */
const readsPerFullRead = 10;

/** Returns a function that reads the state of the topics' logs: end offsets on each call, the rest on every tenth. */
export function createLogReader(log: LogClient, topics: string[]): () => Promise<LogState> {
  let reads = 0;
  let starts = new Map<string, number>();
  let topicIds = new Map<string, string>();
  return async () => {
    if (reads % readsPerFullRead === 0)
      [starts, topicIds] = await Promise.all([log.readStarts(topics), log.readTopicIds(topics)]);
    reads += 1;
    const ends = [...(await log.readEnds(topics))].map(
      ([key, end]) => [key, { low: starts.get(key) ?? 0, end }] as const,
    );
    return { ends: new Map(ends), topicIds };
  };
}
