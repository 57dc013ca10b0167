import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { readLedgerRecords } from '../../shared/control/ledger-store.ts';
import { progressOf } from '../../shared/control/progress.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';

/*
 * Once an operator has accepted the loss of records, other records have the lost offsets. A document or a dead letter
 * may still hold the offset of a lost record. The projector must not compare this offset with the offsets of new
 * records.
 */
describe('after an operator accepts a loss of records', () => {
  const { environment, topic, publish, applied, start, find, cli, deadLetters } = useProjector({
    each: true,
    projectors: 0,
  });
  /** Applies every record of the log. */
  const runToEnd = async () => {
    const projector = await start();
    await applied();
    await projector.stop();
  };
  const documents = (kind: Kind) => collectionOf<StoredDocument>(environment.database, kind);
  const tombstoneOf = (event: Event): Event => ({ ...event, op: 'tombstone' });
  /** The position of a record that the log has lost. */
  const lostPosition = (offset: number) => ({ partition: 0, offset, timestampMs: Date.now() });

  /**
   * Lets the log of a kind lose records from its end on: the applied records up to `appliedTo`, and others that a
   * worker had begun to apply. A projector finds the loss, and an operator accepts it.
   */
  const loseAndAccept = async (kind: Kind, appliedTo: number) => {
    const topicPartition = { topic: topic(kind), partition: 0 };
    await progressOf(environment.control).updateOne(topicPartition, {
      $set: { 'applied.position': appliedTo },
    });
    const projector = await start();
    await eventually(() => projector.fatal.length > 0);
    await projector.stop();
    // The command refuses while a projector has saved its progress lately.
    await progressOf(environment.control).updateMany({}, { $set: { updatedAt: new Date(0) } });
    expect(await cli('accept', 'gap', '1', '--why', 'test')).toMatchObject({ code: 0 });
  };

  /** Writes the document that a worker leaves when it applies a tombstone at this offset. The log has lost it since. */
  const deleteByLostTombstone = (kind: Kind, _id: string, offset: number) =>
    documents(kind).updateOne(
      { _id },
      {
        $set: { deletedAt: new Date(), tombstonePosition: lostPosition(offset) },
        $unset: { state: '', joined: '', refs: '' },
      },
    );

  const contact = (name: string, version: number) => created('contact', 'con_1', { name }, version);
  const requester = async () => (await find('ticket', 'ti_1'))?.joined as { requester?: unknown } | undefined;
  const publishAndApplyTicket = async () => {
    await publish(contact('Ada', 1), created('ticket', 'ti_1', { requesterId: 'con_1' }));
    await runToEnd();
    expect(await requester()).toMatchObject({ requester: { name: 'Ada' } });
  };

  test('a version with an interrupted fan-out reaches its dependents when the source publishes it again', async () => {
    await publishAndApplyTicket();
    // A worker has stored this version, but no dependent document shows it.
    await documents('contact').updateOne(
      { _id: 'con_1' },
      { $set: { version: 2, 'state.name': 'Countess', position: lostPosition(5) } },
    );
    await loseAndAccept('contact', 3);
    await publish(contact('Countess', 2));
    await runToEnd();
    expect(await requester()).toMatchObject({ requester: { name: 'Countess' } });
  });

  test('a deletion with an interrupted fan-out reaches its dependents with the next tombstone', async () => {
    await publishAndApplyTicket();
    await deleteByLostTombstone('contact', 'con_1', 5);
    await loseAndAccept('contact', 3);
    await publish(tombstoneOf(contact('Ada', 1)));
    await runToEnd();
    expect(await requester()).toMatchObject({ requester: null });
  });

  test('a rejected record of a version that a lost tombstone had deleted stays a dead letter', async () => {
    const tag = created('tag', 'tag_1', {}, 5);
    await publish(tag);
    await runToEnd();
    await deleteByLostTombstone('tag', 'tag_1', 2);
    await loseAndAccept('tag', 3);
    await publish({ ...tag, data: { ...tag.data, name: null } });
    await runToEnd();
    expect(await deadLetters()).toMatchObject([{ offset: 1 }]);
  });

  /** The dead letter of a record that the log has lost. */
  const storeLostDeadLetter = async () => {
    const letter = created('tag', 'tag_1');
    await publish(created('tag', 'tag_2'));
    await runToEnd();
    const id = await storeDeadLetter(environment, letter, { offset: 5 });
    await loseAndAccept('tag', 7);
    return { letter, id };
  };

  test('a tombstone erases the dead letter of a lost record with a higher offset', async () => {
    const { letter, id } = await storeLostDeadLetter();
    await publish(tombstoneOf(letter));
    await runToEnd();
    expect(await deadLetters()).toEqual([]);
    expect((await readLedgerRecords(environment.control, [id])).get(id)?.purged).not.toBeNull();
  });

  test('a tombstone deletes an entity that the dead letter of a lost record has restored', async () => {
    const { letter } = await storeLostDeadLetter();
    expect(await cli('dead-letters', 'redrive', '--all')).toMatchObject({ code: 0 });
    expect(await find('tag', 'tag_1')).toHaveProperty('state');
    await publish(tombstoneOf(letter));
    await runToEnd();
    expect(await find('tag', 'tag_1')).not.toHaveProperty('state');
  });
});
