import { createTopics } from '../../services/cli/topics.ts';
import { deadLettersOf } from '../../services/projector/dead-letters/collection.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { collectionOf, generationDatabase } from '../../shared/store/connection.ts';
import { created } from '../support/entities.ts';
import { encode, type Produced } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { logEnds, reached } from '../support/progress.ts';
import { startService } from '../support/service.ts';
import { createTestEnvironment, runProjector, type TestEnvironment } from '../support/test-environment.ts';

describe('after a topic was deleted and created again', () => {
  let testEnvironment: TestEnvironment;
  let projector: Awaited<ReturnType<typeof runProjector>>;

  beforeAll(async () => {
    testEnvironment = await createTestEnvironment(1);
  }, 60_000);

  afterAll(async () => {
    await projector.stop();
    await rebuilt().dropDatabase();
    await testEnvironment.close();
  }, 60_000);

  const topic = () => topicOf('contact', testEnvironment.config.TOPIC_PREFIX);
  const rebuilt = () => generationDatabase(testEnvironment.mongo, testEnvironment.name, 2);
  const publish = async (...messages: Produced[]) => {
    await testEnvironment.producer.send({ topic: topic(), messages });
  };
  const applied = async (generation: number) => {
    const { admin, control, topics } = testEnvironment;
    await reached(control, await logEnds(admin, topics), () => projector.fatal, generation);
  };
  const cli = async (...args: string[]) => {
    const service = startService('cli', testEnvironment.environment, args);
    return { code: await service.exited, text: service.stdout() };
  };
  const deadLetters = () => deadLettersOf(testEnvironment.control).find().sort({ _id: 1 }).toArray();
  /** A contact, the record of another organization for it at offset 1, and a record that is no JSON at offset 2. */
  const records = (name: string): Produced[] => [
    encode(created('contact', `con_${name}`), 'structured'),
    encode({ ...created('contact', `con_${name}`, { name }, 2), orgId: 'org_2' }, 'structured'),
    { key: `con_${name}_bad`, value: '{', headers: {} },
  ];

  test('a record at a known offset is a dead letter of its own, to be shown, redriven and erased by itself', async () => {
    // given dead letters of the topic, and of a topic of the same name that a second generation reads
    projector = await runProjector(testEnvironment);
    await publish(...records('old'));
    await applied(1);
    await projector.stop();
    const old = await deadLetters();
    expect(old.map(({ _id }) => _id)).toEqual([`${topic()}/0/1`, `${topic()}/0/2`]);
    await testEnvironment.admin.deleteTopics({ topics: [topic()] });
    await eventually(async () => !(await testEnvironment.admin.listTopics()).includes(topic()));
    await createTopics(testEnvironment.admin, testEnvironment.config.TOPIC_PREFIX, 1);
    await publish(...records('new'));
    expect(await cli('rebuild', 'start')).toMatchObject({ code: 0 });
    const config = { ...testEnvironment.config, GENERATION: 2 };
    projector = await runProjector({ config, topics: testEnvironment.topics });
    await applied(2);
    // then the old ones are as they were, and the new ones are listed beside them, for the second generation
    const added = (await deadLetters()).filter(({ generations }) => generations.includes(2));
    const kept = (await deadLetters()).filter(({ generations }) => generations.includes(1));
    expect(kept).toEqual(old);
    expect(added).toMatchObject([
      { topic: topic(), partition: 0, offset: 1, count: 1, generations: [2], subjects: ['con_new'] },
      { topic: topic(), partition: 0, offset: 2, count: 1, generations: [2], subjects: ['con_new_bad'] },
    ]);
    const [id = ''] = added.map(({ _id }) => _id);
    expect((await cli('dead-letters', 'list')).text).toContain(`${id}  key con_new `);
    expect((await cli('dead-letters', 'show', id, '--raw')).text).toContain('"name":"new"');
    // when the new ones become ineffective, or can be applied
    await publish({ key: 'con_new_bad', value: null, headers: {} });
    await applied(2);
    await collectionOf(rebuilt(), 'contact').deleteOne({ _id: 'con_new' });
    expect(await cli('dead-letters', 'redrive', id)).toMatchObject({ code: 0 });
    // then they are gone, the new record is applied, and the old ones stay
    expect(await deadLetters()).toEqual(old);
    const contacts = await collectionOf(rebuilt(), 'contact')
      .find({ state: { $exists: true } })
      .toArray();
    expect(contacts).toMatchObject([{ _id: 'con_new', orgId: 'org_2', state: { name: 'new' } }]);
  }, 120_000);
});
