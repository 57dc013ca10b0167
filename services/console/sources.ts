import type { MongoClient } from 'mongodb';
import { kinds } from '../../shared/documents/document.ts';
import { storeTime } from '../../shared/store/clock.ts';
import { controlDatabase } from '../../shared/store/connection.ts';
import { listDeadLetters } from '../operations/dead-letters/list.ts';
import { commandsIn } from '../operations/deployment.ts';
import { readFacts, type Facts } from '../operations/facts.ts';
import type { Finding } from '../operations/finding.ts';
import { findings } from '../operations/findings.ts';
import { report, type Report } from '../operations/report.ts';
import { topicOf } from '../projector/events/topics.ts';
import type { ConsoleConfig } from './config.ts';
import type { ReconnectingKafka } from './connections.ts';
import { createReading } from './readings.ts';

/** The facts at one moment, and the findings that follow from them. */
export type Overview = { facts: Facts; findings: Finding[]; report: Report };

export type SourceDeps = { config: ConsoleConfig; mongo: MongoClient; kafka: ReconnectingKafka };

/** Everything that the pages show and that changes, read by services/operations. */
export function createSources({ config, mongo, kafka }: SourceDeps) {
  const control = controlDatabase(mongo, config.DATABASE_NAME);
  const prefix = config.TOPIC_PREFIX;
  const deps = {
    config,
    mongo,
    control,
    by: 'console',
    topics: kinds.map((kind) => topicOf(kind, prefix)),
    now: () => storeTime(control),
    report: () => undefined,
  };
  const overview = createReading<Overview>(
    async (before) => {
      const facts = await readFacts(deps, kafka.use, before?.value.facts ?? null);
      return { facts, findings: findings(facts), report: report(facts) };
    },
    // Longer than the deadline of Kafka within it.
    { everyMs: 1_500, waitMs: 4_000 },
  );
  const readings = {
    overview,
    deadLetters: createReading(() => listDeadLetters({ control, prefix }, {}, examplesMax), {
      everyMs: 5_000,
    }),
  };
  const close = async () => void (await Promise.all(Object.values(readings).map(({ end }) => end())));
  return { ...readings, control, prefix, commands: commandsIn[config.DEPLOYMENT], close };
}

export type Sources = ReturnType<typeof createSources>;

/** The latest dead letters are read, for an example of each reason. */
const examplesMax = 100;
