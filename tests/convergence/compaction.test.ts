import { readLog } from '../faults/read-log.ts';
import { created } from '../support/entities.ts';
import { idPrefixes } from '../support/events.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { applied, createTestEnvironment, runProjector } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';
import { fold } from './fold.ts';
import { randomLives, revivedKinds } from './lives.ts';
import { readDocuments } from './read-documents.ts';

/**
 * Kafka never compacts the segment to which it appends. A further record of each topic begins a new segment, so that
 * Kafka may compact every record of the history.
 */
const closingRecords = revivedKinds.map((kind) => created(kind, `${idPrefixes[kind]}closing`));

describe('a log whose source appended runs of records again', () => {
  const streamed = useProjector();
  const rebuilt = useOpened(() => createTestEnvironment(1));

  test('a compacted log gives the same read model as the whole log', async () => {
    // A first projector applies the whole log.
    const history = randomLives(1, 600);
    await streamed.publish(...history);
    await streamed.applied();
    const { database, admin, config, topics } = streamed.environment;
    const log = [...history, ...closingRecords];
    const expected = Object.fromEntries(fold(log));
    // Kafka removes all records but the last of each key.
    for (const kind of revivedKinds) {
      await streamed.alterTopic(kind, {
        'cleanup.policy': 'compact',
        'delete.retention.ms': '864000000',
        'min.cleanable.dirty.ratio': '0',
        'segment.ms': '1',
      });
    }
    await streamed.publish(...closingRecords);
    await streamed.applied();
    const keys = new Set(log.map(({ id }) => id));
    await eventually(async () => {
      const compacted = await readLog(streamed.environment);
      const isCompacted = compacted.length === keys.size;
      return isCompacted || notYet(compacted.map(({ event }) => event?.id));
    });
    // A second projector builds the same read model from the compacted log.
    const prefix = { TOPIC_PREFIX: config.TOPIC_PREFIX };
    const projector = await runProjector({ config: { ...rebuilt.config, ...prefix }, topics });
    await applied({ ...rebuilt, admin, topics }, () => projector.fatal);
    await projector.stop();
    expect(await readDocuments(database)).toEqual(expected);
    expect(await readDocuments(rebuilt.database)).toEqual(expected);
    // Documents of the history are among the expected ones.
    expect(Object.keys(expected).length).toBeGreaterThan(closingRecords.length);
  });
});
