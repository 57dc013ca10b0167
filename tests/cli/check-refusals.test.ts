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

type State = {
  settings?: Record<string, unknown>;
  /** Creates the state. Returns the function that ends it. */
  arrange?: () => Promise<() => Promise<unknown>>;
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

/** Each state in which a projector refuses to start, with the line of the check. */
const states: Record<string, [line: string, State]> = {
  'a wrong password of MongoDB': ['MongoDB', { settings: { MONGODB_URL: 'wrong password' } }],
  'a generation that does not exist': ['read model', { settings: { GENERATION: 7 } }],
  'documents of another projection version': ['read model', { arrange: withVersion(projectionVersion + 1) }],
  'a lost registry': [
    'read model',
    {
      arrange: async () => {
        const restore = await changeRegistry((registry) => registry);
        await generationsOf(environment.control).deleteMany({});
        return restore;
      },
    },
  ],
  'an index that conflicts': ['indexes', { arrange: createConflictingIndex }],
  'lost progress': ['progress', { arrange: loseProgress }],
  'a stored gap': ['gaps', { arrange: storeGap }],
  'topics of another prefix': ['followed', { settings: { TOPIC_PREFIX: 'other.' } }],
  'a SASL mechanism that the brokers lack': [
    'Kafka',
    { settings: { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'a', KAFKA_SASL_PASSWORD: 'b' } },
  ],
  'another Kafka cluster': ['cluster', { arrange: moveToOtherCluster }],
};

beforeAll(async () => {
  await publish(created('tag', 'tag_1'));
  const projector = await start();
  await applied();
  await projector.stop();
});

test.each(Object.entries(states))(
  'the check reports %s with the text of the refused start',
  async (_, [line, { settings = {}, arrange }]) => {
    const end = await arrange?.();
    if ('MONGODB_URL' in settings)
      settings.MONGODB_URL = environment.config.MONGODB_URL.replace(/\/\/([^/@]*@)?/, '//reader:wrong@');
    const refusal = await start({ settings }).then(
      () => 'it was not refused',
      // The check prints no such end of the message, which refers to the log because no fix is known.
      (error: unknown) => (error as Error).message.replace(/\. Waiting does not help: .*$/, ''),
    );
    const changes = Object.entries(settings).map(([name, value]) => [name, String(value)] as const);
    const { code, text } = await runCli(
      { ...environment.variables, GENERATION: '1', LOG_LEVEL: 'silent', ...Object.fromEntries(changes) },
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
  const refused = new Set([...Object.values(states).map(([line]) => line), ...Object.keys(testedElsewhere)]);
  expect([...refused].toSorted()).toEqual(conditions.map(({ name }) => name).toSorted());
  for (const path of Object.values(testedElsewhere))
    expect(existsSync(join(import.meta.dirname, path))).toBe(true);
});

test('the check passes after a projector has run, and creates no collection', async () => {
  const names = async () =>
    (await environment.database.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
  const before = await names();
  const { code } = await runCli({ ...environment.variables, LOG_LEVEL: 'silent' }, ['check', 'projector']);
  expect({ code, names: await names() }).toEqual({ code: 0, names: before });
});

/** Each state in which `/readyz` of an API answers 503 although MongoDB answers, with the reason. */
test.each<[string, RegExp, () => Promise<() => Promise<unknown>>]>([
  [
    'no watermark',
    /FAILED +readiness .*generation 1 has no watermark/,
    async () => {
      const before = await watermarksOf(environment.control).find().toArray();
      await watermarksOf(environment.control).deleteMany({});
      return () => watermarksOf(environment.control).insertMany(before);
    },
  ],
  [
    'a missing index',
    /FAILED +readiness .*generation 1 lacks indexes: qas\./,
    async () => {
      await collectionOf(environment.database, 'qa').dropIndexes();
      return () => ensureIndexes(environment.database);
    },
  ],
  [
    'a version that the release does not serve',
    /FAILED +readiness .*holds documents of projection version 8/,
    withVersion(8),
  ],
])('an API that is not ready for %s fails its check', async (_, line, arrange) => {
  const end = await arrange();
  const { code, text } = await runCli({ ...environment.variables, LOG_LEVEL: 'silent' }, ['check', 'api']);
  await end();
  expect(text).toMatch(line);
  expect(code).toBe(1);
  expect((await runCli(environment.variables, ['check', 'api'])).code).toBe(0);
});
