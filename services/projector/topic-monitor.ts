import type { Admin } from 'kafkajs';
import type { Generation } from '../../shared/control/generations.ts';
import { logsWithoutBeginning } from '../../shared/control/registry.ts';
import { parsePartitionKey } from '../../shared/control/topic-partition.ts';
import type { LogClient } from '../../shared/kafka/log-client.ts';
import {
  losingRisks,
  type LossReason,
  readTopicSettings,
  refusedSettings,
  topicWarnings,
} from '../../shared/kafka/topic-settings.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { repeat, type Repeating } from '../../shared/runtime/repeat.ts';
import type { Metrics } from './metrics.ts';

type TopicMonitorDeps = {
  admin: Pick<Admin, 'describeConfigs'>;
  log: Pick<LogClient, 'read'>;
  topics: string[];
  /** The generation as it was registered. */
  generation: Generation;
  metrics: Pick<Metrics, 'losesRecords'>;
  logger: Logger;
};

/** How often the topics are checked, in milliseconds. Operators change settings rarely; retention works in minutes. */
const checkEveryMs = 60_000;

/**
 * Shows in the metrics which topics lose records that a rebuild needs. An operator may change a topic long after the
 * start, and retention deletes its records later still.
 */
export function monitorTopics(deps: TopicMonitorDeps, intervalMs = checkEveryMs): Repeating {
  const { admin, log, topics, generation, metrics, logger } = deps;
  const show = (reason: LossReason, losing: Set<string>, known = topics) => {
    for (const topic of known) metrics.losesRecords.set({ topic, reason }, losing.has(topic) ? 1 : 0);
  };
  /** Returns the topics that exist. If one topic is unknown, the brokers return no settings of any topic. */
  const checkLogs = async () => {
    const { ends, partitions } = await log.read(topics);
    const truncated = logsWithoutBeginning(generation, ends).map(({ key }) => parsePartitionKey(key).topic);
    show('truncated', new Set(truncated));
    const existing = new Set(partitions.map((key) => parsePartitionKey(key).topic));
    return topics.filter((topic) => existing.has(topic));
  };
  const checkSettings = async (existing: string[]) => {
    const settings = await readTopicSettings(admin, existing);
    const warnings = topicWarnings(settings);
    const refused = refusedSettings(settings);
    const refusedTopics = new Set(refused.map(({ topic }) => topic));
    const known = topics.filter((topic) => !refusedTopics.has(topic));
    for (const reason of losingRisks) {
      const losing = warnings.filter(({ risk }) => risk === reason).map(({ topic }) => topic);
      show(reason, new Set(losing), known);
    }
    const [unknown] = topicWarnings(refused);
    if (unknown) throw new Error(unknown.text);
  };
  let isLogged = false;
  const check = async () => {
    await checkSettings(await checkLogs());
    isLogged = false;
  };
  return repeat(check, {
    intervalMs,
    onError: (error) => {
      // Logged once, because a Kafka user without DescribeConfigs never gets the settings. `support-cli status` reports
      // that, too.
      if (!isLogged) logger.warn({ error }, 'could not look at the topics; trying again');
      isLogged = true;
    },
  });
}
