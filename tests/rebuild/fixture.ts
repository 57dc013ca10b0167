import type { Admin } from 'kafkajs';
import type { Output } from '../../services/cli/context.ts';
import type { Json } from '../../services/cli/output.ts';
import type { OperatorDeps } from '../../services/operations/deps.ts';
import { readFactsToAct } from '../../services/operations/facts.ts';
import { type SwitchResult, switchTo } from '../../services/operations/rebuild/switch.ts';
import { reportOf } from '../../services/operations/report.ts';
import { awaitLeaders } from '../../services/operations/topics/create-topics.ts';
import {
  type ComparisonReport,
  type Generation,
  type GenerationRegistry,
  generationsOf,
  type GenerationState,
  projectionVersion,
  readRegistry,
  storedForm,
} from '../../shared/control/generations.ts';
import type { RecordKey } from '../../shared/control/ledger.ts';
import { processesOf, type Projector } from '../../shared/control/processes.ts';
import { progressOf, watermarksOf } from '../../shared/control/progress.ts';
import type { Rejection } from '../../shared/control/rejections.ts';
import { parsePartitionKey } from '../../shared/control/topic-partition.ts';
import { createLogClient } from '../../shared/kafka/log-client.ts';
import { generationDatabase } from '../../shared/store/connection.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { addToLedger } from '../support/dead-letters.ts';
import { projector, report as comparison } from '../support/facts.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';

/** The time by the operator's clock. */
export const present = new Date('2126-03-20T12:00:00Z');
/** The time at which generations got their states: every grace period since then has passed. */
export const longAgo = new Date('2126-03-10T12:00:00Z');
export const secondsBefore = (seconds: number, instant = present) =>
  new Date(instant.getTime() - seconds * 1_000);

export const generation = (
  number: number,
  state: GenerationState,
  changes: Partial<Generation> = {},
): Generation => ({ number, projectionVersion, state, since: longAgo, startedAt: longAgo, ...changes });

/** A comparison that a promotion accepts, with changes. */
export const comparisonReport = (changes: Partial<ComparisonReport> = {}): ComparisonReport => ({
  ...comparison,
  at: secondsBefore(60),
  by: 'bob@host',
  versions: { generation: projectionVersion, against: projectionVersion },
  ...changes,
});

export const activeAndReady = () => [
  generation(1, 'active'),
  generation(2, 'ready', { report: comparisonReport() }),
];

export type Rebuild = Awaited<ReturnType<typeof openRebuild>>;

/** A verb of the CLI without its connections. */
type OperatorVerb<O> = (deps: OperatorDeps, options: O) => Promise<Output>;

export const useRebuild = (): Rebuild => useOpened(openRebuild);

type Promotion = Partial<Parameters<typeof switchTo>[2]>;

/**
 * The topics and databases of one test file, without projectors. The test stores the records that projectors would have
 * made, so that every condition exists without a wait.
 */
export async function openRebuild() {
  const environment = await createTestEnvironment(1);
  const { control, admin, kafka, mongo, name, topics } = environment;
  const log = createLogClient(kafka);
  await log.connect();
  const config = { ...environment.config, DEPLOYMENT: 'source' as const };
  const deps = (changes: Partial<OperatorDeps> = {}): OperatorDeps => ({
    admin,
    log,
    mongo,
    control,
    config,
    topics,
    now: async () => present,
    by: 'ann@host',
    report: () => undefined,
    ...changes,
  });
  const run = async <O>(verb: OperatorVerb<O>, options: O, changes: Partial<OperatorDeps> = {}) => {
    const { text, exitCode } = await verb(deps(changes), options);
    return { text: String(text), exitCode };
  };
  /** Switches to a generation once, as `rebuild promote` does unless the options say otherwise. */
  const switchOnce = (
    number: number,
    options: Promotion = {},
    changes: Partial<OperatorDeps> = {},
  ): Promise<SwitchResult> => {
    const usual = { why: 'test', dryRun: false, timeoutSeconds: 0 };
    return switchTo(deps(changes), number, { ...usual, step: 'promote', ...options });
  };
  const databaseOf = (number: number) => generationDatabase(mongo, name, number);
  let collectionsCreated = 0;
  const withIndexes = new Set<number>();
  const registry = async (): Promise<GenerationRegistry> => {
    const stored = await readRegistry(control);
    if (!stored) throw new Error('there is no registry');
    return stored;
  };
  /**
   * Stores the progress of a generation that has applied everything, with a watermark a few seconds old. The first call
   * for a number creates the collections and indexes; later calls do not create them again.
   */
  const storeProgress = async (number: number, completeTo = secondsBefore(6)) => {
    const { ends } = await log.read(topics);
    const progress = [...ends].map(([key, { end }]) => ({
      _id: `${number}/${key}`,
      generation: number,
      ...parsePartitionKey(key),
      applied: { position: end },
      end,
      completeTo,
      updatedAt: present,
    }));
    // Only once: DocumentDB may keep a dropped collection in the cache of a session, and refuse to create it again.
    if (!withIndexes.has(number)) await ensureIndexes(databaseOf(number));
    withIndexes.add(number);
    await progressOf(control).insertMany(progress);
    await watermarksOf(control).insertOne({ _id: number, completeTo });
  };
  return {
    ...environment,
    deps,
    run,
    runJson: async <O extends Json>(verb: OperatorVerb<O>, options: O) => {
      const { text, exitCode } = await run(verb, { ...options, json: true as const });
      return { exitCode, output: JSON.parse(text) as Record<string, unknown> };
    },
    switchOnce,
    /** The output of `rebuild status`, without its rates. */
    status: async (changes: Partial<OperatorDeps> = {}) => {
      const facts = await readFactsToAct(deps(changes));
      return reportOf(facts);
    },
    databaseOf,
    /** Creates a topic with these settings beside safe ones. Returns it as dependencies that know this topic alone. */
    topicWith: async (changes: Record<string, string>) => {
      const settings = { 'cleanup.policy': 'compact', 'delete.retention.ms': '864000000', ...changes };
      const suffix = Object.values(settings).join('-').replace(',', '-');
      const topic = `${name}.${suffix}`;
      await createTopic(admin, topic, settings);
      return { topics: [topic] };
    },
    /** Publishes three records, and deletes those before an offset from the log. */
    truncate: async (topic: string, before = 2) => {
      const messages = [1, 2, 3].map((key) => ({ key: `${key}`, value: '' }));
      await environment.producer.send({ topic, messages });
      await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(before) }] });
    },
    registry,
    /** The state of each generation by its number. */
    states: async () => {
      const { generations } = await registry();
      const states: Record<number, GenerationState> = {};
      for (const { number, state } of generations) states[number] = state;
      return states;
    },
    /** Empties the control database, and stores these generations and the complete progress of the living ones. */
    storeGenerations: async (generations: Generation[]) => {
      for (const collection of await control.collections()) await collection.deleteMany({});
      await generationsOf(control).insertOne(registryOf(generations));
      const living = generations.filter(({ state }) => state !== 'dropped');
      for (const { number } of living) await storeProgress(number);
    },
    /** Replaces fields of one generation, or with `undefined` removes them. */
    changeGeneration: async (number: number, fields: Partial<Generation>) => {
      const before = await registry();
      const generations = before.generations.map((entry) =>
        entry.number === number ? { ...entry, ...fields } : entry,
      );
      await generationsOf(control).replaceOne({ _id: 'active' }, { ...before, generations });
    },
    announceReplica: (changes: object = {}) =>
      processesOf(control).insertOne({
        _id: 'replica',
        role: 'api',
        host: 'api-1',
        pid: 41,
        release: '1.0.0',
        state: 'running',
        reason: null,
        generation: 1,
        inProgress: [],
        versions: [projectionVersion],
        at: present,
        ...changes,
      }),
    announceProjector: (changes: Partial<Projector> = {}) =>
      processesOf<Projector>(control).insertOne(projector({ at: present, ...changes })),
    /** Adds a record to the ledger. Returns its id. */
    deadLetter: ({ generations = [2], at = secondsBefore(60), ...record }: DeadLetterOptions = {}) =>
      addToLedger(control, { ...rejectedRecord(topics[0] ?? ''), ...record }, generations, at),
    /**
     * Inserts a document, each time into a new collection: a session of DocumentDB may cache a dropped collection, and
     * then finds no document in its successor.
     */
    insertDocument: async (number: number) => {
      collectionsCreated += 1;
      await databaseOf(number).collection(`documents_${collectionsCreated}`).insertOne({});
    },
    countDocuments: async (number: number) => {
      let sum = 0;
      for (const collection of await databaseOf(number).collections())
        sum += await collection.countDocuments();
      return sum;
    },
    setWatermark: (number: number, completeTo: Date) =>
      watermarksOf(control).updateOne({ _id: number }, { $set: { completeTo } }),
    /** Stores that a generation has applied records of a topic, which was then deleted and created again. */
    recreateTopic: async (number: number, topic: string) => {
      const oldApplied = { position: 31, topicId: '1'.repeat(32) };
      await progressOf(control).updateOne({ _id: `${number}/${topic}/0` }, { $set: { applied: oldApplied } });
    },
    /** Removes all progress, so that a projector begins at the first record. */
    forgetProgress: async () => {
      await progressOf(control).deleteMany({});
      await watermarksOf(control).deleteMany({});
    },
    /** The documents of the control database, by collection. */
    controlDocuments: async () => {
      const documents: Record<string, object[]> = {};
      for (const collection of await control.collections())
        documents[collection.collectionName] = await collection.find().sort({ _id: 1 }).toArray();
      return documents;
    },
    close: async () => {
      await log.disconnect();
      await environment.close();
    },
  };
}

async function createTopic(admin: Admin, topic: string, settings: Record<string, string>) {
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  const topics = [{ topic, numPartitions: 1, configEntries }];
  await admin.createTopics({ topics, waitForLeaders: false });
  await awaitLeaders(admin, [topic]);
}

/** The registry of these generations. It serves the active one, or 0 if there is none. */
function registryOf(generations: Generation[]): GenerationRegistry {
  const active = generations.find(({ state }) => state === 'active');
  const numbers = generations.map(({ number }) => number);
  return {
    _id: 'active',
    form: storedForm,
    generation: active ? active.number : 0,
    since: longAgo,
    revision: 7,
    history: [],
    generations,
    lastNumber: Math.max(...numbers),
  };
}

type DeadLetterOptions = Partial<RecordKey> & { generations?: number[]; at?: Date };

const rejectedRecord = (topic: string): RecordKey & Rejection => ({
  topic,
  partition: 0,
  offset: 5,
  timestampMs: 0,
  reason: 'not_json',
  detail: 'no JSON',
});
