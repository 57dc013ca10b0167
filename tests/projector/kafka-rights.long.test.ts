import { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } from 'kafkajs';
import { temporaryFolder } from '../../infra/dev-servers/temporary-folder.ts';
import { type Generation, type GenerationRegistry, generationsOf } from '../../shared/control/generations.ts';
import { processesOf } from '../../shared/control/processes.ts';
import { untilEnforced } from '../support/broker-changes.ts';
import { created } from '../support/entities.ts';
import { fatalError } from '../support/fatal-error.ts';
import { onceKafkaAnswers, runCli } from '../support/run-cli.ts';
import { guardedUser, type SecureKafka, startGuardedKafka } from '../support/secure-kafka.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';

const broker: SecureKafka = useOpened(async () => {
  const { path, remove } = await temporaryFolder('support-read-models-rights-');
  const kafka = await startGuardedKafka(path);
  const close = async () => {
    await kafka.stop();
    await remove();
  };
  return { ...kafka, close };
});
const projector = useProjector({
  projectors: 0,
  servers: () => ({ ...process.env, KAFKA_BROKERS: broker.plain }),
});
const { environment } = projector;

type Right = 'READ' | 'DESCRIBE' | 'DESCRIBE_CONFIGS';

const resourceTypes = { topic: AclResourceTypes.TOPIC, group: AclResourceTypes.GROUP };

const ruleOf = (type: keyof typeof resourceTypes, name: string, right: Right) => ({
  resourceType: resourceTypes[type],
  resourceName: name,
  resourcePatternType: ResourcePatternTypes.LITERAL,
  principal: `User:${guardedUser.KAFKA_SASL_USERNAME}`,
  host: '*',
  operation: AclOperationTypes[right],
  permissionType: AclPermissionTypes.ALLOW,
});

/** Gives the projector Read, which includes Describe, on everything; on tags and on its group the given rights. */
async function grant(rights: { tags?: Right | null; group?: Right | null }) {
  const { tags = 'READ', group = 'READ' } = rights;
  const { admin, topics, config } = environment;
  const { resourceName: _any, ...ofUser } = ruleOf('topic', '', 'READ');
  const anything = { operation: AclOperationTypes.ANY, permissionType: AclPermissionTypes.ANY };
  for (const resourceType of Object.values(resourceTypes))
    await admin.deleteAcls({ filters: [{ ...ofUser, ...anything, resourceType }] });
  const others = topics.filter((topic) => topic !== projector.topic('tag'));
  const acl = others.map((topic) => ruleOf('topic', topic, 'READ'));
  if (tags) acl.push(ruleOf('topic', projector.topic('tag'), tags));
  if (group) acl.push(ruleOf('group', config.CONSUMER_GROUP, group));
  await admin.createAcls({ acl });
  await untilEnforced(broker.plain);
}

const guarded = () => ({ ...guardedUser, KAFKA_BROKERS: broker.secure });

const cli = (...args: string[]) => runCli({ ...environment.variables, ...guarded(), GENERATION: '1' }, args);

const failedLines = (text: string) => text.split('\n').filter((line) => line.startsWith('FAILED'));

beforeAll(async () => {
  await grant({});
  // given a deployment that has run
  const first = projector.startProcess(guarded());
  await first.logged('projecting');
  await projector.publish(created('tag', 'tag_1'));
  await projector.applied();
  await first.stop();
});

test('the check succeeds with the rights of a projector and moves no partition of a running projector', async () => {
  await grant({});
  const running = projector.startProcess(guarded());
  await running.logged('projecting');
  await running.logged('joined the group');
  const { code, text } = await cli('check', 'projector');
  expect({ code, failed: failedLines(text) }).toEqual({ code: 0, failed: [] });
  await projector.publish(created('tag', 'tag_2'));
  await projector.applied();
  expect(running.log.filter(({ msg }) => msg === 'joined the group')).toHaveLength(1);
  expect(await running.stop()).toBe(0);
});

describe.each([
  ['Read on a topic', { tags: 'DESCRIBE' }, () => projector.topic('tag')],
  ['Read on its group', { group: 'DESCRIBE' }, () => environment.config.CONSUMER_GROUP],
  ['Describe on a topic', { tags: null }, () => projector.topic('tag')],
  ['Describe on its group', { group: null }, () => environment.config.CONSUMER_GROUP],
] as const)('a projector without %s', (_, rights, name) => {
  beforeAll(() => grant(rights));

  test('fails the check in one line that names the missing right', async () => {
    const { code, text } = await cli('check', 'projector');
    expect(failedLines(text)).toEqual([
      expect.stringMatching(new RegExp(`${name()}\\b.*needs Read and Describe`)),
    ]);
    expect(code).toBe(1);
  });

  test('is refused with the same reason, which status shows', async () => {
    await processesOf(environment.control).deleteMany({});
    const refused = projector.startProcess(guarded());
    expect(await refused.exited).toBe(1);
    const reason = expect.stringMatching(new RegExp(`${name()}\\b.*needs Read and Describe`)) as string;
    expect(fatalError(refused)?.message).toEqual(reason);
    const stored = await processesOf(environment.control).find().toArray();
    expect(stored).toEqual([expect.objectContaining({ state: 'refused', reason })]);
    await refused.stop();
  });
});

test.each([
  ['a topic', { tags: 'DESCRIBE' }, () => projector.topic('tag')],
  ['its group', { group: 'DESCRIBE' }, () => environment.config.CONSUMER_GROUP],
] as const)('a running projector names its revoked right on %s', async (_, rights, name) => {
  await grant({});
  const running = projector.startProcess(guarded());
  await running.logged('projecting');
  await running.logged('joined the group');
  await grant(rights);
  await projector.publish(created('tag', 'tag_3'));
  expect(await running.exited).toBe(1);
  expect(fatalError(running)?.message).toMatch(new RegExp(`${name()}\\b.*needs Read and Describe`));
  await running.stop();
});

test('a session timeout above the limit of the brokers fails the check and the start', async () => {
  await grant({});
  const tooLong = { KAFKA_SESSION_TIMEOUT_MS: '120000' };
  const settings = { ...environment.variables, ...guarded(), ...tooLong };
  const { text } = await runCli(settings, ['check', 'projector']);
  expect(failedLines(text)).toEqual([expect.stringContaining('KAFKA_SESSION_TIMEOUT_MS')]);
  const refused = projector.startProcess({ ...guarded(), ...tooLong });
  expect(await refused.exited).toBe(1);
  expect(fatalError(refused)?.message).toContain('KAFKA_SESSION_TIMEOUT_MS');
  await refused.stop();
});

test('a topic that the operator may not see is not reported as gone or created', async () => {
  await grant({ tags: null });
  for (const args of [['status'], ['check'], ['topics', 'create']]) {
    const { text, errors } = await onceKafkaAnswers(() => cli(...args));
    const printed = `${text}${errors}`;
    expect(printed).toMatch(new RegExp(`may not (see|describe) .*${projector.topic('tag')}\\b`));
    expect(printed).not.toMatch(/gone|missing|created,/);
  }
});

test('status names a topic without DescribeConfigs and checks the settings of the others', async () => {
  await grant({});
  const { admin, topics } = environment;
  const tags = projector.topic('tag');
  const others = topics.filter((topic) => topic !== tags);
  await admin.createAcls({ acl: others.map((topic) => ruleOf('topic', topic, 'DESCRIBE_CONFIGS')) });
  await projector.alterTopic('contact', { 'cleanup.policy': 'delete' });
  const { text } = await onceKafkaAnswers(() => cli('status'));
  expect(text).toContain(`${projector.topic('contact')}: is not compacted`);
  expect(text).toContain(
    `cannot read the configuration of ${tags}: the Kafka user needs DescribeConfigs on it`,
  );
  const checked = await cli('check');
  expect(failedLines(checked.text).join()).toContain(`${tags}: the Kafka user needs DescribeConfigs on it`);
});

test('status names a group that the operator may not see', async () => {
  await grant({});
  const { CONSUMER_GROUP: group } = environment.config;
  const registry = generationsOf(environment.control);
  const stored = (await registry.findOne({ _id: 'active' })) as GenerationRegistry;
  // given a second generation, which is dropped
  const second = { ...(stored.generations[0] as Generation), number: 2, state: 'dropping' as const };
  await registry.updateOne({ _id: 'active' }, { $push: { generations: second } });
  const dropped = await cli('rebuild', 'drop', '2', '--why', 'test');
  expect(dropped.errors).toMatch(new RegExp(`${group}_g2\\b.*needs Read and Describe`));
  await registry.replaceOne({ _id: 'active' }, stored);
});

test('status names an advertised address that nothing resolves', async () => {
  const misled = { KAFKA_BROKERS: broker.misleading };
  const named = new RegExp(`A broker advertises ${broker.misleadsTo}.*advertised\\.listeners`);
  const settings = { ...environment.variables, ...misled };
  const checked = await runCli(settings, ['check', 'projector']);
  expect(failedLines(checked.text).join('\n')).toMatch(named);
  const createdTopics = await runCli(settings, ['topics', 'create']);
  expect(createdTopics.errors).toMatch(named);
  const waiting = projector.startProcess(misled);
  expect(await waiting.logged('waiting: the brokers are unavailable')).toMatchObject({
    reason: expect.stringMatching(named) as string,
  });
  const printed = `${checked.text}${createdTopics.errors}${waiting.stdout()}`;
  expect(printed).not.toMatch(/missing/);
  await waiting.stop('SIGKILL');
});
