import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  connectBrokers,
  connectStore,
  enterGroup,
  openModel,
} from '../../services/projector/startup/preconditions.ts';
import {
  type GenerationRegistry,
  generationsOf,
  projectionVersion,
} from '../../shared/control/generations.ts';
import { storeLogGaps } from '../../shared/control/log-gaps.ts';
import { progressOf, watermarksOf } from '../../shared/control/progress.ts';
import { resources } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { created } from '../support/entities.ts';
import { containing } from '../support/matchers.ts';
import { runCli } from '../support/run-cli.ts';
import { useProjector } from '../support/use-projector.ts';

const { environment, topic, start, publish, applied } = useProjector({ projectors: 0 });
const at = new Date(0);

/** Changes the registry, and returns the function that restores it. */
async function changeRegistry(change: (registry: GenerationRegistry) => GenerationRegistry) {
  const registry = generationsOf(environment.control);
  const before = await registry.findOne({ _id: 'active' });
  if (!before) throw new Error('there is no registry');
  await registry.replaceOne({ _id: 'active' }, change(before));
  return () => registry.replaceOne({ _id: 'active' }, before, { upsert: true });
}

const withVersion = (version: number) => () =>
  changeRegistry((registry) => ({
    ...registry,
    generations: registry.generations.map((generation) => ({ ...generation, projectionVersion: version })),
  }));

/** Creates a state of the servers. Returns the function that ends it. */
type Arrange = () => Promise<() => Promise<unknown>>;

/** A state in which a projector refuses to start, and the line of the check that fails. */
type State = {
  name: string;
  line: string;
  /** The settings of the projector and of the check. */
  settings?: () => Record<string, unknown>;
  arrange?: Arrange;
};

const loseRegistry = async () => {
  const restore = await changeRegistry((registry) => registry);
  await generationsOf(environment.control).deleteMany({});
  return restore;
};

const loseProgress = async () => {
  const progress = await progressOf(environment.control).find().toArray();
  await progressOf(environment.control).deleteMany({});
  return () => progressOf(environment.control).insertMany(progress);
};

const storeGap = async () => {
  const gap = { topic: topic('tag'), partition: 0, kind: 'deleted' as const, from: 5, to: 9, topicId: null };
  await storeLogGaps({ control: environment.control, generation: 1, by: 'test' }, [gap], at);
  return () => environment.control.collection('log_gaps').deleteMany({});
};

const createConflictingIndex = async () => {
  const { name = '' } = resources.ticket.indexes[0] ?? {};
  const tickets = collectionOf(environment.database, 'ticket');
  await tickets.dropIndex(name);
  await tickets.createIndex({ other: 1 }, { name });
  return async () => {
    await tickets.dropIndex(name);
    await ensureIndexes(environment.database);
  };
};

const moveToOtherCluster = async () => {
  const progress = progressOf(environment.control);
  const before = await progress.find().toArray();
  await progress.updateMany({}, { $set: { applied: { position: 1, topicId: 'other' } } });
  return async () => {
    await progress.deleteMany({});
    await progress.insertMany(before);
  };
};

const wrongPassword = () => ({
  MONGODB_URL: environment.config.MONGODB_URL.replace(/\/\/([^/@]*@)?/, '//reader:wrong@'),
});

const states: State[] = [
  { name: 'a wrong password of MongoDB', line: 'MongoDB', settings: wrongPassword },
  { name: 'a generation that does not exist', line: 'read model', settings: () => ({ GENERATION: 7 }) },
  {
    name: 'documents of another projection version',
    line: 'read model',
    arrange: withVersion(projectionVersion + 1),
  },
  { name: 'a lost registry', line: 'read model', arrange: loseRegistry },
  { name: 'an index that conflicts', line: 'indexes', arrange: createConflictingIndex },
  { name: 'lost progress', line: 'progress', arrange: loseProgress },
  { name: 'a stored gap', line: 'gaps', arrange: storeGap },
  { name: 'topics of another prefix', line: 'followed', settings: () => ({ TOPIC_PREFIX: 'other.' }) },
  {
    name: 'a SASL mechanism that the brokers lack',
    line: 'Kafka',
    settings: () => ({ KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'a', KAFKA_SASL_PASSWORD: 'b' }),
  },
  { name: 'another Kafka cluster', line: 'cluster', arrange: moveToOtherCluster },
];

beforeAll(async () => {
  await publish(created('tag', 'tag_1'));
  const projector = await start();
  await applied();
  await projector.stop();
});

/** Starts a projector. Returns the message of the error with which it refuses to start. */
const refusalOf = (settings: Record<string, unknown>): Promise<string> =>
  start({ settings }).then(
    () => 'it was not refused',
    (error: unknown) => (error as Error).message,
  );

/** Settings as environment variables. */
const asEnvironment = (settings: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]));

test.each(states)(
  'the check reports $name with the text of the refused start',
  async ({ line, settings, arrange }) => {
    const end = await arrange?.();
    const changes = settings?.() ?? {};
    const message = await refusalOf(changes);
    // The check prints no such end of the message, which refers to the log because no fix is known.
    const refusal = message.replace(/\. Waiting does not help: .*$/, '');
    const { code, text } = await runCli(
      { ...environment.variables, GENERATION: '1', LOG_LEVEL: 'silent', ...asEnvironment(changes) },
      ['check', 'projector', '--json'],
    );
    await end?.();
    const lines = JSON.parse(text) as { name: string; isMet: boolean; detail: string }[];
    const failed = lines.filter(({ isMet }) => !isMet);
    expect(failed).toContainEqual({ name: line, isMet: false, detail: containing(refusal) });
    expect(code).toBe(1);
  },
);

/** The conditions whose refusals need other servers or rights, and the file that tests each of them. */
const testedElsewhere = {
  rights: 'check-rights.test.ts',
  topics: '../projector/kafka-rights.long.test.ts',
  records: '../projector/kafka-rights.long.test.ts',
  group: '../projector/shared-group.test.ts',
};

test('each condition of a start has a state that refuses it', () => {
  const conditions = [connectStore, openModel, connectBrokers, enterGroup].flatMap(({ list }) => list);
  const refused = new Set([...states.map(({ line }) => line), ...Object.keys(testedElsewhere)]);
  expect([...refused].toSorted()).toEqual(conditions.map(({ name }) => name).toSorted());
  for (const path of Object.values(testedElsewhere))
    expect(existsSync(join(import.meta.dirname, path))).toBe(true);
});

test('the check passes after a projector has run, and creates no collection', async () => {
  const names = async () => {
    const collections = await environment.database.listCollections({}, { nameOnly: true }).toArray();
    return collections.map(({ name }) => name);
  };
  const before = await names();
  const { code } = await runCli({ ...environment.variables, LOG_LEVEL: 'silent' }, ['check', 'projector']);
  expect(code).toBe(0);
  expect(await names()).toEqual(before);
});

const loseWatermark = async () => {
  const before = await watermarksOf(environment.control).find().toArray();
  await watermarksOf(environment.control).deleteMany({});
  return () => watermarksOf(environment.control).insertMany(before);
};

const dropIndexes = async () => {
  await collectionOf(environment.database, 'qa').dropIndexes();
  return () => ensureIndexes(environment.database);
};

/** Each state in which `/readyz` of an API answers 503 although MongoDB answers, with the reason. */
test.each<{ reason: string; line: RegExp; arrange: Arrange }>([
  {
    reason: 'no watermark',
    line: /FAILED +readiness .*generation 1 has no watermark/,
    arrange: loseWatermark,
  },
  {
    reason: 'a missing index',
    line: /FAILED +readiness .*generation 1 lacks indexes: qas\./,
    arrange: dropIndexes,
  },
  {
    reason: 'a version that the release does not serve',
    line: /FAILED +readiness .*holds documents of projection version 8/,
    arrange: withVersion(8),
  },
])('an API that is not ready for $reason fails its check', async ({ line, arrange }) => {
  const end = await arrange();
  const { code, text } = await runCli({ ...environment.variables, LOG_LEVEL: 'silent' }, ['check', 'api']);
  await end();
  expect(text).toMatch(line);
  expect(code).toBe(1);
  expect((await runCli(environment.variables, ['check', 'api'])).code).toBe(0);
});
