import { readLog } from '../faults/read-log.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { applied, createTestEnvironment, runProjector } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';
import { fold } from './fold.ts';
import { lives, randomLives } from './lives.ts';
import { readDocuments } from './read-documents.ts';

/** Kafka never compacts the segment to which it appends: one more record begins another. */
const last = lives.map(([kind, [id = '']]) => created(kind, id.replace(/0$/, 'last')));

describe('a log with runs that were appended again', () => {
  const streamed = useProjector();
  const rebuilt = useOpened(() => createTestEnvironment(1));

  test('gives the same read model before and after Kafka has compacted it', async () => {
    // given a projector that applies the whole log
    const history = randomLives(1, 600);
    await streamed.publish(...history);
    await streamed.applied();
    const { database, admin, config, topics } = streamed.environment;
    const expected = Object.fromEntries(fold([...history, ...last]));
    // when Kafka has removed all records but the last of each key
    for (const [kind] of lives)
      await streamed.alterTopic(kind, {
        'cleanup.policy': 'compact',
        'delete.retention.ms': '864000000',
        'min.cleanable.dirty.ratio': '0',
        'segment.ms': '1',
      });
    await streamed.publish(...last);
    await streamed.applied();
    const keys = new Set([...history, ...last].map(({ id }) => id));
    await eventually(async () => {
      const found = await readLog(streamed.environment);
      return found.length === keys.size || found.map(({ event }) => event?.id);
    });
    // then a read model that is built from that log is the same
    const prefix = { TOPIC_PREFIX: config.TOPIC_PREFIX };
    const projector = await runProjector({ config: { ...rebuilt.config, ...prefix }, topics });
    await applied({ ...rebuilt, admin, topics }, () => projector.fatal);
    await projector.stop();
    expect(await readDocuments(database)).toEqual(expected);
    expect(await readDocuments(rebuilt.database)).toEqual(expected);
    expect(Object.keys(expected).length).toBeGreaterThan(last.length);
  });
});
