import type { Kind } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { created } from '../support/entities.ts';
import { containing } from '../support/matchers.ts';
import { useProjector } from '../support/use-projector.ts';

describe('a projector whose collections an operator changes', () => {
  const { environment, publish, applied, find, deadLetters, ...projector } = useProjector({ partitions: 2 });
  const contact = (id: string, address: string, version = 1) =>
    created('contact', id, { email: { email: address, verified: true } }, version);

  test('stores a dead letter that names the unique index for each refused document', async () => {
    // The operator has a unique index for look-ups by address. Both partitions have contacts of one address.
    await publish(contact('con_first', 'ada@example.com'));
    await applied();
    await collectionOf(environment.database, 'contact').createIndex(
      { 'state.email.email': 1 },
      { unique: true },
    );
    const twins = ['con_a', 'con_b', 'con_c', 'con_d', 'con_e'];
    await publish(...twins.map((id) => contact(id, 'ada@example.com')));
    await publish(...twins.map((id) => contact(`${id}_other`, `${id}@example.com`)));
    await applied();
    // Each dead letter names the index and the document but no address.
    for (const id of twins) expect(await find('contact', `${id}_other`)).toMatchObject({ version: 1 });
    const found = await deadLetters();
    const partitions = new Set(found.map(({ partition }) => partition));
    expect(partitions.size).toBe(2);
    const namespace = `${environment.database.databaseName}.contacts`;
    const reason = 'refused_by_store';
    const detail = `${namespace}: another document has the same key in the unique index state.email.email_1 (code 11000)`;
    expect(found).toHaveLength(twins.length);
    for (const letter of found) expect(letter).toMatchObject({ reason, detail });
    // A redrive applies the records once the index is gone.
    await collectionOf(environment.database, 'contact').dropIndex('state.email.email_1');
    const redriven = await projector.cli('dead-letters', 'redrive', '--reason', 'refused_by_store');
    expect(redriven.code).toBe(0);
    for (const id of twins) expect(await find('contact', id)).toMatchObject({ version: 1 });
    expect(await deadLetters()).toEqual([]);
  });

  test.each(['revision', 'position'])('continues if an operator removes %s of a document', async (field) => {
    const kind: Kind = 'qa';
    const id = `qa_${field}`;
    await publish(created(kind, id));
    await applied();
    await collectionOf(environment.database, kind).updateOne({ _id: id }, { $unset: { [field]: '' } });
    await publish(created(kind, id, { question: 'New?' }, 2), created(kind, `${id}_other`));
    await applied();
    expect(await find(kind, id)).toMatchObject({ version: 2, state: { question: 'New?' } });
    expect(await find(kind, `${id}_other`)).toMatchObject({ version: 1 });
    expect(await projector.cli('explain', id)).toMatchObject({ code: 0 });
    expect(await projector.cli('verify')).toMatchObject({ code: 0 });
  });

  test('has an `explain` for a document whose position and references have another type', async () => {
    await publish(created('tag', 'tag_1'));
    await publish(created('ticket', 'ti_1', { tagIds: ['tag_1'] }));
    await applied();
    const broken: object = { position: 'x', refs: null };
    await collectionOf(environment.database, 'ticket').updateOne({ _id: 'ti_1' }, { $set: broken });
    const explained = await projector.cli('explain', 'ti_1');
    expect(explained).toMatchObject({ code: 0, text: containing('differs in position') });
    const verified = await projector.cli('verify');
    const unreadable = containing('ticket ti_1  position  position cannot be read');
    expect(verified).toMatchObject({ code: 1, text: unreadable });
  });
});
