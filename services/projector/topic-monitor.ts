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

/** The interval of the checks, in milliseconds. Operators change settings rarely, and retention works in minutes. */
const checkEveryMs = 60_000;

/**
 * Shows in the metrics which topics lose records that a rebuild needs. The monitor repeats its checks, because an
 * operator may change a topic long after the start, and retention deletes the records even later.
 */
export function monitorTopics(deps: TopicMonitorDeps, intervalMs = checkEveryMs): Repeating {
  const { admin, log, topics, generation, metrics, logger } = deps;
  const show = (reason: LossReason, losingTopics: Set<string>, checkedTopics: string[]) => {
    for (const topic of checkedTopics)
      metrics.losesRecords.set({ topic, reason }, losingTopics.has(topic) ? 1 : 0);
  };
  /** Returns the topics that exist. `checkSettings` needs them: brokers answer nothing if one topic is unknown. */
  const checkLogs = async () => {
    const { ends, partitions } = await log.read(topics);
    const truncatedTopics = logsWithoutBeginning(generation, ends).map(
      ({ key }) => parsePartitionKey(key).topic,
    );
    show('truncated', new Set(truncatedTopics), topics);
    const existing = new Set(partitions.map((key) => parsePartitionKey(key).topic));
    return topics.filter((topic) => existing.has(topic));
  };
  const checkSettings = async (existingTopics: string[]) => {
    const settings = await readTopicSettings(admin, existingTopics);
    const warnings = topicWarnings(settings);
    const refused = refusedSettings(settings);
    const refusedTopics = new Set(refused.map(({ topic }) => topic));
    const checkedTopics = topics.filter((topic) => !refusedTopics.has(topic));
    for (const reason of losingRisks) {
      const losingTopics = warnings.filter(({ risk }) => risk === reason).map(({ topic }) => topic);
      show(reason, new Set(losingTopics), checkedTopics);
    }
    const [refusal] = topicWarnings(refused);
    if (refusal) throw new Error(refusal.text);
  };
  let isLogged = false;
  const check = async () => {
    const existingTopics = await checkLogs();
    await checkSettings(existingTopics);
    isLogged = false;
  };
  return repeat(check, {
    intervalMs,
    onError: (error) => {
      // Logged once, because a Kafka user without DescribeConfigs never gets the settings. `support-cli status` also
      // reports that.
      if (!isLogged) logger.warn({ error }, 'could not look at the topics; trying again');
      isLogged = true;
    },
  });
}
