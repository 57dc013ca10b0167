import { setTimeout as sleep } from 'node:timers/promises';
import { progressOf } from '../../shared/control/progress.ts';
import { created } from '../support/entities.ts';
import { useProjector } from '../support/use-projector.ts';
import { eventually } from '../support/eventually.ts';
import { startConsuming } from '../support/start-consuming.ts';

describe('a projector that is stopped', () => {
  const { environment, topic, publish, send, committed, start } = useProjector({ each: true, projectors: 0 });

  test('saves and commits the records applied since the last commit', async () => {
    // given a projector whose commit loop runs only at its start
    const projector = await start({ commitIntervalMs: 3_600_000 });
    await publish(created('tag', 'tag_1'), created('tag', 'tag_2'));
    await eventually(async () => (await environment.database.collection('tags').countDocuments()) === 2);
    // when it stops
    await projector.stop();
    // then the next projector continues after the applied records
    expect(await committed('tag')).toBe(2);
    expect(await progressOf(environment.control).findOne({ topic: topic('tag') })).toMatchObject({
      position: 2,
    });
  });

  test('finishes the batch in progress, and starts no other', async () => {
    const entered = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const { seen, fatal, stop } = await startConsuming(
      environment,
      [topic('tag')],
      async (_, record, signal) => {
        entered.resolve();
        await released.promise;
        signal.throwIfAborted();
        return record();
      },
    );
    // given a batch in progress, and a record that was published since
    await send('tag', { key: 'tag_1', value: 'first' });
    await entered.promise;
    await send('tag', { key: 'tag_1', value: 'second' });
    // when it is stopped, and the batch takes a while longer
    const stopped = stop();
    await sleep(200);
    released.resolve();
    await stopped;
    // then the batch is applied and committed
    expect([seen(topic('tag')), fatal]).toEqual([['first'], []]);
    expect(await committed('tag')).toBe(1);
  });
});
