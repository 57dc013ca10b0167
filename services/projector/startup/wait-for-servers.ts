import type { MongoClient } from 'mongodb';
import type { Brokers } from '../../../shared/kafka/brokers.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Announcement } from '../announce-projector.ts';
import type { ProjectorConfig } from '../config.ts';
import { initializeMetrics, type Metrics } from '../metrics.ts';
import { connectBrokers, connectStore, enterGroup, type OpenedModel, openModel } from './preconditions.ts';
import { type OnWait, waiting } from './wait-until.ts';

type WaitDeps = {
  config: ProjectorConfig;
  mongo: MongoClient;
  brokers: Brokers;
  topics: string[];
  metrics: Metrics;
  logger: Logger;
  onWait: OnWait;
  announcement: Announcement;
};

/** The servers of a projector that may start, and the generation that it follows. */
export type ReadyServers = OpenedModel & {
  brokers: Brokers;
  /** The group that can be joined. */
  groupId: string;
  /** Receives each further condition that the start waits for, and announces it to operators. */
  onWait: OnWait;
};

/** Waits until every server meets the preconditions of a start, in their order. */
export async function waitForServers(deps: WaitDeps): Promise<ReadyServers> {
  const { config, brokers, topics, metrics, announcement } = deps;
  const store = await connectStore.meetAll(deps, waiting(deps.onWait));
  announcement.begin();
  const onWait = announcing(deps.onWait, announcement);
  const base = { ...deps, isTrial: false, onWait };
  const opened = await openModel.meetAll({ ...base, ...store }, waiting(onWait));
  announcement.set({ generation: opened.registered.number });
  initializeMetrics(metrics, opened.registered.number, topics);
  const connected = await connectBrokers.meetAll(base, waiting(onWait));
  const { groupId } = await enterGroup.meetAll({ ...opened, ...connected, config }, waiting(onWait));
  const { control, database, registered, protocol } = opened;
  return { control, database, registered, protocol, brokers, groupId, onWait };
}

/** Returns an `onWait` that also announces each condition for which the start waits. */
const announcing =
  (onWait: OnWait, announcement: Announcement): OnWait =>
  (condition, reason) => {
    onWait(condition, reason);
    announcement.set({ reason: `${condition}: ${reason}` });
  };
