import { collectionOf, generationDatabase } from '../../shared/store/connection.ts';
import { created } from '../support/entities.ts';
import { encode, type Produced } from '../support/events.ts';
import { logEnds, reached } from '../support/progress.ts';
import { useProjector } from '../support/use-projector.ts';

describe('after a topic was deleted and created again', () => {
  const { environment, topic, send, deadLetters, start, stop, fatal, cli, recreateTopic } = useProjector();
  const rebuilt = () => generationDatabase(environment.mongo, environment.name, 2);
  const applied = async (generation: number) => {
    const { admin, control, topics } = environment;
    await reached(control, await logEnds(admin, topics), fatal, generation);
  };
  /** A contact, the record of another organization for it at offset 1, and a record that is no JSON at offset 2. */
  const records = (name: string): Produced[] => [
    encode(created('contact', `con_${name}`), 'structured'),
    encode({ ...created('contact', `con_${name}`, { name }, 2), orgId: 'org_2' }, 'structured'),
    { key: `con_${name}_bad`, value: '{', headers: {} },
  ];

  test('a record at a known offset is a dead letter of its own, to be shown, redriven and erased by itself', async () => {
    // given dead letters of the topic, and of a topic of the same name that a second generation reads
    await send('contact', ...records('old'));
    await applied(1);
    await stop();
    const old = await deadLetters();
    expect(old.map(({ _id }) => _id)).toEqual([`${topic('contact')}/0/1`, `${topic('contact')}/0/2`]);
    await recreateTopic('contact');
    await send('contact', ...records('new'));
    expect(await cli('rebuild', 'start')).toMatchObject({ code: 0 });
    await start({ settings: { GENERATION: 2 } });
    await applied(2);
    // then the old ones are as they were, and the new ones are listed beside them, for the second generation
    const added = (await deadLetters()).filter(({ generations }) => generations.includes(2));
    const kept = (await deadLetters()).filter(({ generations }) => generations.includes(1));
    expect(kept).toEqual(old);
    const common = { topic: topic('contact'), partition: 0, count: 1, generations: [2] };
    expect(added).toMatchObject([
      { ...common, offset: 1, subjects: ['con_new'] },
      { ...common, offset: 2, subjects: ['con_new_bad'] },
    ]);
    const [id = ''] = added.map(({ _id }) => _id);
    expect((await cli('dead-letters', 'list')).text).toContain(`${id}  key con_new `);
    expect((await cli('dead-letters', 'show', id, '--raw')).text).toContain('"name":"new"');
    // when the new ones become ineffective, or can be applied
    await send('contact', { key: 'con_new_bad', value: null });
    await applied(2);
    await collectionOf(rebuilt(), 'contact').deleteOne({ _id: 'con_new' });
    expect(await cli('dead-letters', 'redrive', id)).toMatchObject({ code: 0 });
    // then they are gone, the new record is applied, and the old ones stay
    expect(await deadLetters()).toEqual(old);
    const contacts = await collectionOf(rebuilt(), 'contact')
      .find({ state: { $exists: true } })
      .toArray();
    expect(contacts).toMatchObject([{ _id: 'con_new', orgId: 'org_2', state: { name: 'new' } }]);
    await stop();
    await rebuilt().dropDatabase();
  });
});
