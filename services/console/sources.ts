import type { Db, MongoClient } from 'mongodb';
import { requestIdShape } from '../../shared/control/request-traces.ts';
import { readSamples, type Sample, sampleEveryMs } from '../../shared/control/samples.ts';
import { topicsOf } from '../../shared/kafka/topics.ts';
import { storeTime } from '../../shared/store/clock.ts';
import { controlDatabase } from '../../shared/store/connection.ts';
import { type DeadLetterDetails, deadLetterDetails } from '../operations/dead-letters/details.ts';
import { type DeadLetterList, listDeadLetters, readDeadLetter } from '../operations/dead-letters/list.ts';
import { type Commands, commandsIn } from '../operations/deployment.ts';
import { explain, idInTrace } from '../operations/explain/explain.ts';
import type { Explanation } from '../operations/explain/explanation.ts';
import { type Facts, readFacts } from '../operations/facts.ts';
import { evaluateRules, type Finding } from '../operations/findings.ts';
import { type Report, reportOf } from '../operations/report.ts';
import { readTrace, type TraceOfReplica } from '../operations/traces/read-trace.ts';
import type { ConsoleConfig } from './config.ts';
import type { ReconnectingKafka } from './connections.ts';
import { limitedClient, limitedDatabase } from './limited-reads.ts';
import { createOpenReads, createReading, createReadings, type LastReading } from './readings.ts';

/** The time limit of each command of a read that a client has chosen, in milliseconds. */
const readMsMax = 30_000;

/** The facts of one reading, and the findings that follow from them. */
export type Overview = { facts: Facts; findings: Finding[]; report: Report };

export type SourceDeps = { config: ConsoleConfig; mongo: MongoClient; kafka: ReconnectingKafka };

/** The explanation of an id, and the trace of the request that named it; null for the id of a document. */
export type ExplainedId = { trace: TraceOfReplica | null; explanation: Explanation };

/** The connections and settings for a read that a client has chosen. The read ends when no page waits for it. */
type OperationDeps = {
  config: ConsoleConfig;
  mongo: MongoClient;
  control: Db;
  /** The entity topics. */
  topics: string[];
  /** MongoDB's clock. */
  now: () => Promise<Date>;
};

/** The values that pages show. services/operations reads them. */
export type Sources = {
  /** The facts, read again every 1.5 s while a page asks. */
  overview: () => Promise<LastReading<Overview>>;
  /** The lag and the throughput of the last hour. */
  samples: () => Promise<LastReading<Sample[]>>;
  /** The latest dead letters, and the number of all. */
  deadLetters: (query: LetterQuery) => Promise<LastReading<DeadLetterList>>;
  /** A dead letter by its id. */
  deadLetter: (id: string) => Promise<LastReading<DeadLetterDetails>>;
  /** The explanation of the id of a document, or of a Request-Id. */
  explanation: (id: string) => Promise<LastReading<ExplainedId>>;
  /** The commands of this deployment. */
  commands: Commands;
};

/** Creates the readings of the pages. */
export function createSources({ config, mongo, kafka }: SourceDeps): Sources {
  const control = controlDatabase(mongo, config.DATABASE_NAME);
  const now = () => storeTime(control);
  const deps = { config, mongo, control, topics: topicsOf(config.TOPIC_PREFIX), now };
  // Connects before every read: if an operation connects implicitly and fails, the driver's topology stays closed.
  const connected = <T>(read: () => Promise<T>) => mongo.connect().then(read);
  const readOverview = async (previous: Overview | null): Promise<Overview> => {
    const facts = await connected(() => readFacts(deps, kafka.use, previous?.facts ?? null));
    const findings = evaluateRules(facts);
    return { facts, findings, report: reportOf(facts, findings) };
  };
  // The wait is longer than the three seconds for which the facts wait for Kafka.
  const overview = createReading(readOverview, {
    everyMs: 1_500,
    waitMs: 4_000,
    servers: 'MongoDB or Kafka',
  });
  const readLastHour = () => connected(async () => readSamples(control, await now()));
  const samples = createReading(readLastHour, { everyMs: sampleEveryMs / 2 });
  const limited = (signal: AbortSignal): OperationDeps => {
    const limits = { maxTimeMS: readMsMax, signal };
    return { ...deps, mongo: limitedClient(mongo, limits), control: limitedDatabase(control, limits) };
  };
  const begin = createOpenReads();
  const readDeadLetters = (filter: LetterQuery, signal: AbortSignal) =>
    connected(() => listDeadLetters(limited(signal), filter, lettersMax));
  const deadLetters = createReadings(begin, readDeadLetters, { everyMs: 5_000 });
  // Each load of a page reads its content again, unless the content came too late for the last load.
  const byId = <T>(read: (limitedDeps: OperationDeps, id: string) => Promise<T>) =>
    createReadings(begin, (id: string, signal) => connected(() => read(limited(signal), id)), { everyMs: 0 });
  const deadLetter = byId(async ({ control: database }, id) =>
    deadLetterDetails(await readDeadLetter(database, id), config.TOPIC_PREFIX),
  );
  const explanation = byId(explainId);
  const commands = commandsIn[config.DEPLOYMENT];
  return { overview, samples, deadLetters, deadLetter, explanation, commands };
}

async function explainId(deps: OperationDeps, id: string): Promise<ExplainedId> {
  const trace = requestIdShape.test(id) ? await readTrace(deps.control, id) : null;
  return { trace, explanation: await explain(deps, trace ? idInTrace(trace) : id) };
}

/** Selects the dead letters of a page: by topic and by reason. */
export type LetterQuery = { topic: string | undefined; reason: string | undefined };

/** The most dead letters on a page. */
const lettersMax = 20;
