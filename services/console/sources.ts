import type { MongoClient } from 'mongodb';
import { readSamples, sampleEveryMs } from '../../shared/control/samples.ts';
import { storeTime } from '../../shared/store/clock.ts';
import { controlDatabase } from '../../shared/store/connection.ts';
import { listDeadLetters } from '../operations/dead-letters/list.ts';
import { commandsIn } from '../operations/deployment.ts';
import { readFacts, type Facts } from '../operations/facts.ts';
import { findings, type Finding } from '../operations/findings.ts';
import { report, type Report } from '../operations/report.ts';
import { topicsOf } from '../../shared/kafka/topics.ts';
import type { ConsoleConfig } from './config.ts';
import type { ReconnectingKafka } from './connections.ts';
import { createReading, createReadings } from './readings.ts';

/** The facts at one moment, and the findings that follow from them. */
export type Overview = { facts: Facts; findings: Finding[]; report: Report };

export type SourceDeps = { config: ConsoleConfig; mongo: MongoClient; kafka: ReconnectingKafka };

/** Everything that the pages show and that changes, read by services/operations. */
export function createSources({ config, mongo, kafka }: SourceDeps) {
  const control = controlDatabase(mongo, config.DATABASE_NAME);
  const deps = {
    config,
    mongo,
    control,
    by: 'console',
    topics: topicsOf(config.TOPIC_PREFIX),
    now: () => storeTime(control),
    report: () => undefined,
  };
  // Before every read. If the first operation connects instead and fails, the driver's topology stays closed.
  const connect = () => mongo.connect();
  const overview = createReading<Overview>(
    async (before) => {
      await connect();
      const facts = await readFacts(deps, kafka.use, before?.value.facts ?? null);
      const all = findings(facts);
      return { facts, findings: all, report: report(facts, all) };
    },
    // Longer than the deadline of Kafka within it.
    { everyMs: 1_500, waitMs: 4_000 },
  );
  const connectedTime = () => connect().then(() => storeTime(control));
  const redriveDeps = async () => {
    const now = await connectedTime();
    return { ...deps, now: () => now };
  };
  const readings = {
    overview,
    samples: createReading(async () => readSamples(control, await connectedTime()), {
      everyMs: sampleEveryMs / 2,
    }),
    deadLetters: createReadings(
      async ({ after, ...filter }: LetterQuery) =>
        // One more tells whether there is another page.
        listDeadLetters(await redriveDeps(), filter, { limit: lettersMax + 1, after }),
      { everyMs: 5_000 },
    ),
  };
  const close = async () => void (await Promise.all(Object.values(readings).map(({ end }) => end())));
  return { ...readings, control, connect, redriveDeps, commands: commandsIn[config.DEPLOYMENT], close };
}

export type Sources = ReturnType<typeof createSources>;

/** The dead letters of a page: those of a topic, of a reason, after an id. */
export type LetterQuery = { topic: string | undefined; reason: string | undefined; after: string };

/** Dead letters on one page. */
export const lettersMax = 20;
