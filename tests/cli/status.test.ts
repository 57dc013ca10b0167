import { type Document, MongoClient, MongoNetworkError } from 'mongodb';
import { readCounts } from '../../services/operations/counts.ts';
import { readFactsToAct } from '../../services/operations/facts.ts';
import { readSharedTokens } from '../../services/operations/shared-tokens.ts';
import { readRegistry } from '../../shared/control/generations.ts';
import { dayMs } from '../../shared/documents/instant.ts';
import { kinds, resources } from '../../shared/documents/resources.ts';
import { readTopicSettings } from '../../shared/kafka/topic-settings.ts';
import { controlDatabase, createMongo, generationDatabase } from '../../shared/store/connection.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { apiKey, store } from '../api/builders.ts';
import { generation, useRebuild } from '../rebuild/fixture.ts';
import { type Answer, createAnsweringProxy } from '../support/answering-proxy.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { runCli } from '../support/run-cli.ts';
import { proxiedUrl } from '../support/store-proxy.ts';
import { useOpened } from '../support/use-opened.ts';

const rebuild = useRebuild();

test('the topics that the CLI creates keep tombstones for a week', async () => {
  const { admin, topics } = rebuild;
  const settings = await readTopicSettings(admin, topics);
  expect(settings.map(({ topic }) => topic).toSorted()).toEqual(topics.toSorted());
  for (const { cleanupPolicy, deleteRetentionMs } of settings) {
    expect(cleanupPolicy).toBe('compact');
    expect(deleteRetentionMs).toBe(7 * dayMs);
  }
});

test('status names missing and hidden indexes with the command that restores them', async () => {
  const { database } = rebuild;
  await rebuild.storeGenerations([generation(1, 'active')]);
  const findStructures = async () => {
    const { generations } = await rebuild.status();
    return generations[0]?.findings.filter(({ name }) => name === 'structures');
  };
  expect(await findStructures()).toEqual([]);
  await database.collection('tickets').dropIndex('updated');
  await database.collection('qas').drop();
  await database.command({ collMod: 'channels', index: { name: 'created', hidden: true } });
  const [missing, hidden] = (await findStructures()) ?? [];
  expect(missing).toMatchObject({ severity: 'bad', fix: 'GENERATION=1 npm run projector' });
  expect(missing?.text).toContain(
    `its database ${database.databaseName} lacks tickets.updated, all indexes of qas`,
  );
  expect(hidden?.severity).toBe('bad');
  expect(hidden?.text).toContain('are hidden, so the API answers 503: channels.created');
  expect(hidden?.fix).toContain(`db.getSiblingDB('${database.databaseName}').runCommand(`);
  await database.command({ collMod: 'channels', index: { name: 'created', hidden: false } });
  await ensureIndexes(database);
  expect(await findStructures()).toEqual([]);
});

describe('tokens of several keys', () => {
  const archived = { archivedAt: '2026-01-01T00:00:00Z' };

  test('are listed with their keys if an active key is refused', async () => {
    await rebuild.storeGenerations([generation(1, 'active')]);
    await ensureIndexes(rebuild.database);
    await store(rebuild.database, 'apiKey', [
      apiKey('svc_live_1', { id: 'key_taken1' }),
      apiKey('svc_live_1', { id: 'key_taken2' }, { orgId: 'org_b' }),
      apiKey('svc_live_2', { id: 'key_revoked1', ...archived }),
      apiKey('svc_live_2', { id: 'key_revoked2' }),
      apiKey('svc_live_3', { id: 'key_over1', ...archived }),
      apiKey('svc_live_3', { id: 'key_over2', ...archived }),
      apiKey('svc_live_4', { id: 'key_same1' }),
      apiKey('svc_live_4', { id: 'key_same2' }),
      apiKey('svc_live_5', { id: 'key_gone' }),
      apiKey('svc_live_5', { id: 'key_left' }),
      apiKey('svc_live_6', { id: 'key_alone' }),
    ]);
    const cli = (...args: string[]) => runCli(rebuild.variables, args);
    for (const id of ['key_gone', 'key_alone']) await cli('keys', 'block', id, '--why', 'leaked');
    await rebuild.database.collection<{ _id: string }>('apiKeys').deleteOne({ _id: 'key_gone' });
    let text = '';
    // A status gives MongoDB half a second to find the tokens.
    await eventually(async () => {
      ({ text } = await cli('status'));
      return !text.includes('not counted: tokens') || notYet(text);
    });
    const findings = text.match(/(?<=a token is refused: )it belongs to .*?(?=\. )/g) ?? [];
    expect(findings.toSorted()).toEqual([
      'it belongs to key_left of org_a (active), and "keys block" has blocked it',
      'it belongs to key_revoked1 of org_a (archived), key_revoked2 of org_a (active)',
      'it belongs to key_taken1 of org_a (active), key_taken2 of org_b (active)',
    ]);
    expect(text).not.toMatch(/[0-9a-f]{64}/i);
  });

  test('are an empty list if there are no keys', async () => {
    const { control, name } = rebuild;
    await rebuild.storeGenerations([generation(1, 'active')]);
    const registry = await readRegistry(control);
    await rebuild.database.collection('apiKeys').deleteMany({});
    await eventually(async () => {
      try {
        const tokens = await readSharedTokens(control, name, registry);
        return tokens.length === 0 || notYet(tokens);
      } catch (error) {
        return notYet(error);
      }
    });
  });
});

type Aggregate = { pipeline: Document[]; maxTimeMS?: number };

describe('counts for status', () => {
  /** Clients of a MongoDB that gives this answer to the counts. */
  const proxied = useOpened(async () => {
    const proxy = createAnsweringProxy(rebuild.config.MONGODB_URL);
    const mongo = createMongo(proxiedUrl(await proxy.listen()), 'test');
    return {
      mongo,
      control: controlDatabase(mongo, rebuild.name),
      database: generationDatabase(mongo, rebuild.name, 1),
      answer: (answer: Answer) => {
        proxy.state.answer = ({ name }) => (name.startsWith('aggregate ') ? answer : null);
      },
      close: async () => {
        await mongo.close();
        await proxy.close();
      },
    };
  });
  const status = () => rebuild.status({ mongo: proxied.mongo, control: proxied.control });
  beforeEach(() => rebuild.storeGenerations([generation(1, 'active'), generation(2, 'ready')]));

  test('are left out with the reason if MongoDB refuses them', async () => {
    // MongoDB answers so if `notablescan` refuses a scan, or if the user has too few rights.
    proxied.answer({ code: 291, errmsg: 'refused' });
    const counts = await readCounts(proxied.database);
    expect(counts.pending).toEqual({ conversations: null });
    expect(counts.notCounted).toEqual([{ part: 'pending conversations', reason: 'refused' }]);
    const { sharedTokens, notCounted, generations } = await status();
    expect(sharedTokens).toBeNull();
    expect(notCounted.map(({ part }) => part)).toEqual(
      expect.arrayContaining(['the bytes of the dead letters', 'tokens of several keys']),
    );
    expect(generations.map(({ number }) => number)).toEqual([1, 2]);
  });

  test('fail if MongoDB does not answer', async () => {
    proxied.answer('closed');
    await expect(readCounts(proxied.database)).rejects.toThrow(MongoNetworkError);
    await expect(status()).rejects.toThrow(MongoNetworkError);
  });

  test('are estimates or have a bound, so their cost does not grow with the collections', async () => {
    const { config, database, name } = rebuild;
    await rebuild.storeGenerations([generation(1, 'active')]);
    await using mongo = new MongoClient(config.MONGODB_URL, { monitorCommands: true });
    const commands: Document[] = [];
    mongo.on('commandStarted', ({ command }) => commands.push(command));
    await readFactsToAct(rebuild.deps({ mongo, control: mongo.db(name) }));
    await readCounts(mongo.db(database.databaseName));
    // MongoDB estimates the number of documents in the collection of every resource.
    const counts = commands.filter(({ count }) => count !== undefined);
    const collections = kinds.map((kind) => resources[kind].collection);
    expect(counts.map(({ count }) => String(count)).toSorted()).toEqual(collections.toSorted());
    for (const { query } of counts) expect(query).toBeUndefined();
    // Every other count has a limit. Only the counts of tokens and stored bytes have a time limit instead.
    const aggregates = commands.filter(({ aggregate }) => aggregate !== undefined) as Aggregate[];
    expect(aggregates.length).toBeGreaterThan(1);
    const isTimed = ({ pipeline }: Aggregate) => /tokenSha256|"\$size"/.test(JSON.stringify(pipeline));
    for (const { maxTimeMS } of aggregates.filter(isTimed)) expect(maxTimeMS).toBeLessThanOrEqual(500);
    for (const { pipeline } of aggregates.filter((aggregate) => !isTimed(aggregate))) {
      const limitStage = pipeline.find((stage) => '$limit' in stage);
      expect(limitStage?.$limit).toBeLessThanOrEqual(10_000);
    }
    // The status reads documents only from the control database.
    const finds = commands.filter(({ find }) => find !== undefined);
    expect(new Set(finds.map(({ $db }) => String($db)))).toEqual(new Set([name]));
  });
});
