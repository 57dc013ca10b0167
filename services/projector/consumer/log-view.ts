import type { LogClient } from '../kafka/log-client.ts';

/** What the brokers said of the logs: the ends by `<topic>/<partition>`, and the ids of topics by their names. */
export type LogView = {
  ends: Map<string, { low: number; end: number }>;
  topicIds: Map<string, string>;
};

/** Beginnings and ids change seldom, by retention or by hand: they are read in one turn of so many. */
const turnsPerFullReading = 10;

/**
 * Reads the logs of the topics, turn after turn: the ends each time, what changes seldom only now and then.
 */
export function createLogView(log: LogClient, topics: string[]): () => Promise<LogView> {
  let turn = 0;
  let starts = new Map<string, number>();
  let topicIds = new Map<string, string>();
  return async () => {
    if (turn % turnsPerFullReading === 0)
      [starts, topicIds] = await Promise.all([log.readStarts(topics), log.readTopicIds(topics)]);
    turn += 1;
    const ends = [...(await log.readEnds(topics))].map(
      ([key, end]) => [key, { low: starts.get(key) ?? 0, end }] as const,
    );
    return { ends: new Map(ends), topicIds };
  };
}
