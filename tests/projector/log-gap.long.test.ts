import { topicIdsOf } from '../../shared/store/progress.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import type { Service } from '../../infra/service.ts';
import { useProjector } from '../support/use-projector.ts';

describe('records that are deleted from the log before they were applied', () => {
  const {
    environment,
    topic,
    publish,
    applied,
    find,
    startProcess,
    connectProducer,
    deleteRecords,
    recreateTopic,
  } = useProjector({ each: true, projectors: 0 });

  const publishTags = async (...ids: string[]) => {
    for (const id of ids) await publish(created('tag', id));
  };
  const fatal = ({ log }: Service) => JSON.stringify(log.find(({ level }) => level === 'fatal'));

  test('stop the projector with an error that names them; nothing is skipped', async () => {
    // given a stopped projector that has applied two records
    await publishTags('tag_1', 'tag_2');
    const first = startProcess();
    await applied();
    expect(await first.stop()).toBe(0);
    // when records are published and some of them are deleted
    await publishTags('tag_3', 'tag_4', 'tag_5');
    await deleteRecords('tag', 4);
    // then the next projector exits with an error
    const second = startProcess();
    expect(await second.exited).toBe(1);
    expect(fatal(second)).toMatch(/tags\/0: the records from offset 2 to 3 are gone/);
    expect(await find('tag', 'tag_5')).toBeNull();
  });

  test('stop a running projector too, even if no record follows', async () => {
    // given a suspended projector that has applied a record
    await publishTags('tag_1');
    const projector = startProcess();
    await applied();
    projector.child.kill('SIGSTOP');
    // when records are published and deleted; the first may be fetched already
    await publishTags('tag_2', 'tag_3', 'tag_4', 'tag_5');
    await deleteRecords('tag', 5);
    projector.child.kill('SIGCONT');
    // then it exits instead of waiting for more records
    expect(await projector.exited).toBe(1);
    expect(fatal(projector)).toMatch(/tags\/0: the records from offset \d to 4 are gone/);
  });

  test('stop the projector if the topic was recreated with more records than were applied', async () => {
    // given a stopped projector that has applied two records
    await publishTags('tag_1', 'tag_2');
    const first = startProcess();
    await applied();
    expect(await first.stop()).toBe(0);
    // when a topic of the same name holds others where those two were, and more
    await recreateTopic('tag');
    await publishTags('tag_3', 'tag_4', 'tag_5');
    // then the next projector exits with an error
    const second = startProcess();
    expect(await second.exited).toBe(1);
    expect(fatal(second)).toMatch(/tags\/0: .* applied the log up to 2, but of another topic of this name/);
    expect(await find('tag', 'tag_5')).toBeNull();
  });

  test('stop a running projector too if the topic is recreated', async () => {
    await publishTags('tag_1');
    const projector = startProcess();
    await applied();
    projector.child.kill('SIGSTOP');
    await recreateTopic('tag');
    await publishTags('tag_2', 'tag_3', 'tag_4');
    projector.child.kill('SIGCONT');
    expect(await projector.exited).toBe(1);
    expect(fatal(projector)).toMatch(/tags\/0: .*another topic of this name/);
  });

  test('are no gap if none of the topic was applied before it was recreated', async () => {
    const first = startProcess();
    await first.logged('projecting');
    const { control, topics } = environment;
    await eventually(async () => (await topicIdsOf(control).countDocuments()) >= topics.length);
    expect(await first.stop()).toBe(0);
    await recreateTopic('tag');
    await publishTags('tag_1');
    const second = startProcess();
    await applied();
    expect(await environment.database.collection('tags').countDocuments()).toBe(1);
    expect(await second.stop()).toBe(0);
  });

  test('are no gap if only control records and aborted records remain', async () => {
    // given a stopped projector, and a log whose next records are those of an aborted transaction
    await publishTags('tag_1');
    const first = startProcess();
    await applied();
    expect(await first.stop()).toBe(0);
    const transactional = await connectProducer({ transactionalId: environment.name });
    const transaction = await transactional.transaction();
    await transaction.send({
      topic: topic('tag'),
      messages: [encode(created('tag', 'tag_x'), 'structured')],
    });
    await transaction.abort();
    // when the next projector has passed them, and a record is published
    const second = startProcess();
    await applied();
    await publishTags('tag_2');
    await applied();
    // then only that record is applied
    const tags = await environment.database.collection('tags').find().toArray();
    expect(tags.map(({ _id }) => String(_id)).sort()).toEqual(['tag_1', 'tag_2']);
    expect(await second.stop()).toBe(0);
  });
});
