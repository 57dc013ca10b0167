import { progressOf } from '../../shared/control/progress.ts';
import { created } from '../support/entities.ts';
import { useProjector } from '../support/use-projector.ts';
import { eventually } from '../support/eventually.ts';

describe('a projector that is stopped', () => {
  const { environment, topic, publish, committed, start } = useProjector({ each: true, projectors: 0 });

  test('saves and commits the records applied since the last commit', async () => {
    // given a projector whose commit loop runs only at its start
    const projector = await start({ commitIntervalMs: 3_600_000 });
    await publish(created('tag', 'tag_1'), created('tag', 'tag_2'));
    await eventually(async () => (await environment.database.collection('tags').countDocuments()) === 2);
    await projector.stop();
    // then the next projector continues after the applied records
    expect(await committed('tag')).toBe(2);
    expect(await progressOf(environment.control).findOne({ topic: topic('tag') })).toMatchObject({
      position: 2,
    });
  });
});
