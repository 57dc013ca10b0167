import { progressOf, readWatermark } from '../../shared/control/progress.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { fatalError } from '../support/fatal-error.ts';
import { runCli } from '../support/run-cli.ts';
import { createShareGroup } from '../support/share-group.ts';
import { startConsuming } from '../support/start-consuming.ts';
import { createTestEnvironment, type TestEnvironment } from '../support/test-environment.ts';
import { useProjector } from '../support/use-projector.ts';

const partitions = 2;

describe('a consumer group that two deployments share', () => {
  /** The consumers that the hook stops, the latest first. */
  const opened: { stop: () => Promise<unknown> }[] = [];
  afterEach(async () => {
    for (const one of opened.splice(0).toReversed()) await one.stop();
  });
  const first = useProjector({ each: true, projectors: 0, partitions });
  const second = useProjector({ each: true, projectors: 0, partitions });

  const groupId = () => first.environment.config.CONSUMER_GROUP;
  const shared = () => ({ CONSUMER_GROUP: groupId() });
  const allPartitions = () => first.environment.topics.length * partitions;

  /** Runs the consumer of a deployment in the group, without the checks of a start. */
  const consume = async (environment: TestEnvironment, topics = environment.topics) => {
    const config = { ...environment.config, ...shared() };
    const consuming = await startConsuming({ ...environment, config }, topics);
    opened.push(consuming);
    return { ...consuming, assigned: () => consuming.consuming.snapshot().length };
  };
  /** Joins the group as a client of kafkajs that is no projector. Returns whether the group admits it. */
  const join = async () => {
    const consumer = first.environment.kafka.consumer({ groupId: groupId() });
    opened.push({ stop: () => consumer.disconnect() });
    const { GROUP_JOIN, CRASH } = consumer.events;
    const isAdmitted = new Promise<boolean>((resolve) => {
      consumer.on(GROUP_JOIN, () => resolve(true));
      consumer.on(CRASH, () => resolve(false));
    });
    await consumer.connect();
    await consumer.subscribe({ topics: second.environment.topics });
    await consumer.run({ eachBatch: async () => undefined });
    return { isAdmitted: await isAdmitted, leave: () => consumer.disconnect() };
  };
  const publishTags = (count: number) =>
    first.publish(...Array.from({ length: count }, (_, index) => created('tag', `tag_${index}`)));

  test.each([
    ['other topics', () => ({})],
    ['the same topics', () => ({ TOPIC_PREFIX: first.environment.config.TOPIC_PREFIX })],
  ])('refuses a projector of another database with %s, and the first goes on', async (_, changes) => {
    await first.start();
    await eventually(async () => (await groupState(first.environment)) === 'Stable');
    const late = second.startProcess({ ...shared(), ...changes() });
    expect(await late.exited).toBe(1);
    const { name } = first.environment;
    expect(fatalError(late)?.message).toMatch(
      new RegExp(
        `^${name} \\(CONSUMER_GROUP\\): another client is in the consumer group .*: client ${name} on ` +
          `[\\d.:]+ \\(protocol: generation 1 of the database ${name}, id [-\\w]+\\), member ${name}-[-\\w]+\\. ` +
          'Stop it, or set CONSUMER_GROUP to a group of its own',
      ),
    );
    await publishTags(10);
    await first.applied();
  });

  test('does not admit another deployment or client beside a projector, which misses nothing', async () => {
    const projector = await consume(first.environment);
    await eventually(() => projector.assigned() === allPartitions());
    const foreign = await consume(second.environment, first.environment.topics);
    await eventually(() => foreign.fatal.length > 0);
    expect(foreign.fatal[0]?.message).toContain(`the database ${first.environment.name}, id`);
    expect((await join()).isAdmitted).toBe(false);
    await publishTags(10);
    await eventually(() => projector.seen(first.topic('tag')).length === 10);
    expect({
      fatal: projector.fatal,
      assigned: projector.assigned(),
      assignedToSecond: foreign.assigned(),
    }).toEqual({ fatal: [], assigned: allPartitions(), assignedToSecond: 0 });
  });

  test('goes to one of two deployments that start at the same time', async () => {
    const both = await Promise.all([first.environment, second.environment].map((one) => consume(one)));
    await eventually(() => both.some(({ fatal }) => fatal.length > 0));
    const [lost, ...others] = both.filter(({ fatal }) => fatal.length > 0);
    expect(others).toEqual([]);
    const won = both.find((one) => one !== lost);
    await eventually(() => won?.assigned() === allPartitions());
    expect({ fatal: won?.fatal, assignedToLost: lost?.assigned() }).toEqual({ fatal: [], assignedToLost: 0 });
  });

  test('refuses a projector while another client has it, which the refusal, status and check name', async () => {
    const before = await first.start();
    await before.stop();
    const foreign = await join();
    expect(foreign.isAdmitted).toBe(true);
    const named = /another client is in the consumer group .*\(protocol: RoundRobinAssigner\), member /;
    const refused = first.startProcess();
    expect(await refused.exited).toBe(1);
    expect(fatalError(refused)?.message).toMatch(named);
    await eventually(async () => {
      const { text } = await first.cli('status');
      return (/bad +generation 1: another client is in/.test(text) && named.test(text)) || text;
    });
    const { code, text } = await first.cli('check', 'projector');
    expect(code).toBe(1);
    expect(text).toMatch(named);
    expect(text).toMatch(/FAILED +group/);
    await foreign.leave();
    await first.startProcess().logged('joined the group');
  });
});

describe('a group id that a share group has, which keeps it when its last consumer has left', () => {
  const { environment, startProcess, cli } = useProjector({ projectors: 0 });

  test('refuses a projector, whose log, check and status name the group and the way out but not the same start', async () => {
    const { CONSUMER_GROUP: groupId } = environment.config;
    await createShareGroup(String(process.env.KAFKA_BROKERS), groupId);
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
        (status.includes(words) && wayOut.test(status) && !status.includes('npm run projector')) || status
      );
    });
  });
});

describe('a generation that has followed topics', () => {
  const { environment, topic, start, startProcess, publish, applied, cli } = useProjector({ projectors: 0 });

  test('is not followed on the topics of another prefix, which check and status name too', async () => {
    await publish(created('tag', 'tag_1'));
    const projector = await start();
    await applied();
    const other = await createTestEnvironment(1);
    try {
      const { TOPIC_PREFIX } = other.config;
      // given an operator with the prefix of the next build: the status still recognizes the projectors of the served
      // generation
      const { text: beside } = await runWith({ TOPIC_PREFIX }, 'status');
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
        return text.includes(`bad        generation 1: ${words}`) || text;
      });
      const { code, text } = await runWith({ TOPIC_PREFIX }, 'check', 'projector');
      expect(code).toBe(1);
      expect(text).toMatch(/FAILED +followed +generation 1: it has applied records of/);
      // and a build follows them
      expect(await runWith({ TOPIC_PREFIX }, 'rebuild', 'start')).toMatchObject({ code: 0 });
      const build = startProcess({ TOPIC_PREFIX, GENERATION: '2' });
      await build.logged('projecting');
      await build.stop();
    } finally {
      await other.close();
    }
    expect((await cli('check', 'projector')).text).not.toContain('FAILED');
  });

  test('is followed by a release that does not know one of its topics, which holds Data-As-Of no longer', async () => {
    const { control, config } = environment;
    // given a topic of a kind that a later release has added
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
    runCli({ ...environment.environment, ...changes }, args);
});

const groupState = async ({ admin, config }: TestEnvironment) =>
  (await admin.describeGroups([config.CONSUMER_GROUP])).groups[0]?.state;
