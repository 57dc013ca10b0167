import { progressOf, readWatermark } from '../../shared/control/progress.ts';
import { created } from '../support/entities.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { fatalError } from '../support/fatal-error.ts';
import { createShareGroup, joinByConsumerProtocol } from '../support/group-heartbeats.ts';
import { matching } from '../support/matchers.ts';
import { onceKafkaAnswers, runCli } from '../support/run-cli.ts';
import { startConsuming } from '../support/start-consuming.ts';
import { createTestEnvironment, type TestEnvironment } from '../support/test-environment.ts';
import { useProjector } from '../support/use-projector.ts';

const partitions = 2;
const brokers = () => String(process.env.KAFKA_BROKERS);
const namesConsumerProtocol =
  /\(CONSUMER_GROUP\): a client with group\.protocol=consumer is in .* Stop it, or set CONSUMER_GROUP/;

describe('a consumer group that two deployments share', () => {
  /** The consumers that the hook stops, the latest first. */
  const opened: { stop: () => Promise<unknown> }[] = [];
  afterEach(async () => {
    for (const consumer of opened.splice(0).toReversed()) await consumer.stop();
  });
  const deployment = useProjector({ each: true, projectors: 0, partitions });
  const otherDeployment = useProjector({ each: true, projectors: 0, partitions });

  const groupId = () => deployment.environment.config.CONSUMER_GROUP;
  const shared = () => ({ CONSUMER_GROUP: groupId() });
  const allPartitions = () => deployment.environment.topics.length * partitions;

  /** Runs the consumer of a deployment in the group, without the checks of a start. */
  const consume = async (environment: TestEnvironment, topics = environment.topics) => {
    const config = { ...environment.config, ...shared() };
    const consumer = await startConsuming({ ...environment, config }, topics);
    opened.push(consumer);
    return consumer;
  };
  /** Joins the group as a client of kafkajs that is no projector. Returns whether the group admits it. */
  const join = async () => {
    const consumer = deployment.environment.kafka.consumer({ groupId: groupId() });
    opened.push({ stop: () => consumer.disconnect() });
    const { GROUP_JOIN, CRASH } = consumer.events;
    const isAdmitted = new Promise<boolean>((resolve) => {
      consumer.on(GROUP_JOIN, () => resolve(true));
      consumer.on(CRASH, () => resolve(false));
    });
    await consumer.connect();
    await consumer.subscribe({ topics: otherDeployment.environment.topics });
    await consumer.run({ eachBatch: async () => undefined });
    return { isAdmitted: await isAdmitted, leave: () => consumer.disconnect() };
  };
  const publishTags = (count: number) =>
    deployment.publish(...Array.from({ length: count }, (_, index) => created('tag', `tag_${index}`)));

  test.each([
    ['other topics', () => ({})],
    ['the same topics', () => ({ TOPIC_PREFIX: deployment.environment.config.TOPIC_PREFIX })],
  ])('refuses a projector of another database with %s', async (_, changes) => {
    await deployment.start();
    await eventually(async () => (await groupState(deployment.environment)) === 'Stable');
    const late = otherDeployment.startProcess({ ...shared(), ...changes() });
    expect(await late.exited).toBe(1);
    const { name } = deployment.environment;
    expect(fatalError(late)?.message).toMatch(
      new RegExp(
        `^${name} \\(CONSUMER_GROUP\\): another client is in the consumer group .*: client ${name} on ` +
          `[\\d.:]+ \\(protocol: generation 1 of the database ${name}, id [-\\w]+\\), member ${name}-[-\\w]+\\. ` +
          'Stop it, or set CONSUMER_GROUP to a group of its own',
      ),
    );
    await publishTags(10);
    await deployment.applied();
  });

  test('does not admit another deployment or client beside a projector', async () => {
    const projector = await consume(deployment.environment);
    await eventually(() => projector.assigned() === allPartitions());
    const foreign = await consume(otherDeployment.environment, deployment.environment.topics);
    await eventually(() => foreign.fatal.length > 0);
    expect(foreign.fatal[0]?.message).toContain(`the database ${deployment.environment.name}, id`);
    expect((await join()).isAdmitted).toBe(false);
    await publishTags(10);
    await eventually(() => projector.seen(deployment.topic('tag')).length === 10);
    expect({
      fatal: projector.fatal,
      assigned: projector.assigned(),
      assignedToSecond: foreign.assigned(),
    }).toEqual({ fatal: [], assigned: allPartitions(), assignedToSecond: 0 });
  });

  test('ends a projector that a client with group.protocol=consumer joins', async () => {
    const projector = await consume(deployment.environment);
    await eventually(() => projector.assigned() === allPartitions());
    await joinByConsumerProtocol(brokers(), groupId(), deployment.topic('tag'));
    await eventually(() => projector.fatal.length > 0);
    expect(projector.fatal[0]?.message).toMatch(namesConsumerProtocol);
  });

  test('refuses a projector while a client with group.protocol=consumer is in the group', async () => {
    const leave = await joinByConsumerProtocol(brokers(), groupId(), deployment.topic('tag'));
    const refused = deployment.startProcess();
    expect(await refused.exited).toBe(1);
    expect(fatalError(refused)).toMatchObject({
      type: 'StartRefused',
      message: matching(namesConsumerProtocol),
    });
    const { code, text } = await deployment.cli('check', 'projector');
    expect({ code, text }).toEqual({ code: 1, text: matching(/FAILED +group +.*group\.protocol=consumer/) });
    await leave();
    await deployment.startProcess().logged('joined the group');
  });

  test('serves one of two deployments that start at the same time', async () => {
    const consumers = await Promise.all(
      [deployment.environment, otherDeployment.environment].map((environment) => consume(environment)),
    );
    await eventually(() => consumers.some(({ fatal }) => fatal.length > 0));
    const [refused, ...otherRefused] = consumers.filter(({ fatal }) => fatal.length > 0);
    expect(otherRefused).toEqual([]);
    const served = consumers.find((consumer) => consumer !== refused);
    await eventually(() => served?.assigned() === allPartitions());
    expect({ fatal: served?.fatal, assignedToRefused: refused?.assigned() }).toEqual({
      fatal: [],
      assignedToRefused: 0,
    });
  });

  test('refuses a projector while another client is in the group', async () => {
    const before = await deployment.start();
    await before.stop();
    const foreign = await join();
    expect(foreign.isAdmitted).toBe(true);
    const named = /another client is in the consumer group .*\(protocol: RoundRobinAssigner\), member /;
    const refused = deployment.startProcess();
    expect(await refused.exited).toBe(1);
    expect(fatalError(refused)?.message).toMatch(named);
    await eventually(async () => {
      const { text } = await deployment.cli('status');
      return (/bad +generation 1: another client is in/.test(text) && named.test(text)) || notYet(text);
    });
    const { code, text } = await deployment.cli('check', 'projector');
    expect(code).toBe(1);
    expect(text).toMatch(named);
    expect(text).toMatch(/FAILED +group/);
    await foreign.leave();
    await deployment.startProcess().logged('joined the group');
  });
});

describe('a group id of a share group', () => {
  const { environment, startProcess, cli } = useProjector({ projectors: 0 });

  test('refuses a projector with an error that names the group and the fix', async () => {
    const { CONSUMER_GROUP: groupId } = environment.config;
    await createShareGroup(brokers(), groupId);
    const words = `${groupId} (CONSUMER_GROUP): The group member's supported protocols are incompatible`;
    const wayOut = /is a group of another type, such as a share group.* Set CONSUMER_GROUP to another id, or/;
    const refused = startProcess();
    expect(await refused.exited).toBe(1);
    expect(fatalError(refused)?.message).toContain(words);
    expect(fatalError(refused)?.message).toMatch(wayOut);
    // The log repeats no text of the cause.
    expect(fatalError(refused)?.message.split(words)).toHaveLength(2);
    const { code, text } = await cli('check', 'projector');
    expect(code).toBe(1);
    expect(text).toContain(`FAILED    group       ${words}`);
    expect(text).toMatch(wayOut);
    await eventually(async () => {
      const { text: status } = await cli('status');
      return (
        (status.includes(words) && wayOut.test(status) && !status.includes('npm run projector')) ||
        notYet(status)
      );
    });
  });
});

describe('a generation that has followed topics', () => {
  const { environment, topic, start, startProcess, publish, applied, cli } = useProjector({ projectors: 0 });

  test('does not start on the topics of another prefix', async () => {
    await publish(created('tag', 'tag_1'));
    const projector = await start();
    await applied();
    const otherEnvironment = await createTestEnvironment(1);
    try {
      const { TOPIC_PREFIX } = otherEnvironment.config;
      // The operator has the prefix of the next build. The status still recognizes the projectors of the served one.
      const { text: beside } = await onceKafkaAnswers(() => runWith({ TOPIC_PREFIX }, 'status'));
      expect(beside).toContain('generation 1: it has applied records of');
      expect(beside).not.toContain('another client is in the consumer group');
      await projector.stop();
      const refused = startProcess({ TOPIC_PREFIX });
      expect(await refused.exited).toBe(1);
      const words =
        `it has applied records of ${environment.config.TOPIC_PREFIX}*, such as those of ${topic('tag')}/0, but ` +
        `TOPIC_PREFIX names ${TOPIC_PREFIX}*. Set the TOPIC_PREFIX that it has followed, or build another generation`;
      expect(fatalError(refused)?.message).toContain(`generation 1: ${words}`);
      const recorded = await progressOf(environment.control).distinct('topic');
      expect(recorded.toSorted()).toEqual(environment.topics.toSorted());
      await eventually(async () => {
        const { text } = await runWith({ TOPIC_PREFIX }, 'status');
        return text.includes(`bad        generation 1: ${words}`) || notYet(text);
      });
      const { code, text } = await runWith({ TOPIC_PREFIX }, 'check', 'projector');
      expect(code).toBe(1);
      expect(text).toMatch(/FAILED +followed +generation 1: it has applied records of/);
      // A build may follow those topics.
      expect(await runWith({ TOPIC_PREFIX }, 'rebuild', 'start')).toMatchObject({ code: 0 });
      const build = startProcess({ TOPIC_PREFIX, GENERATION: '2' });
      await build.logged('projecting');
      await build.stop();
    } finally {
      await otherEnvironment.close();
    }
    expect((await cli('check', 'projector')).text).not.toContain('FAILED');
  });

  test('does not delay Data-As-Of for a topic that the release does not know', async () => {
    const { control, config } = environment;
    // A later release has added the kind of this topic.
    const laterApplied = { position: 5 };
    const later = {
      generation: 1,
      topic: `${config.TOPIC_PREFIX}notes`,
      partition: 0,
      applied: laterApplied,
      end: 9,
    };
    const before = new Date(Date.now() - 3_600_000);
    await progressOf(control).insertOne({ _id: 'later', ...later, completeTo: before, updatedAt: before });
    await start();
    await eventually(async () => Number(await readWatermark(control, 1)) > before.getTime());
  });

  const runWith = (changes: Record<string, string>, ...args: string[]) =>
    runCli({ ...environment.variables, ...changes }, args);
});

const groupState = async ({ admin, config }: TestEnvironment) =>
  (await admin.describeGroups([config.CONSUMER_GROUP])).groups[0]?.state;
