import type { Explanation } from '../../services/operations/explain/explanation.ts';
import { generationsOf, projectionVersion } from '../../shared/control/generations.ts';
import { parseRecordId } from '../../shared/control/ledger.ts';
import { type RequestTrace, requestTracesOf } from '../../shared/control/request-traces.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { matching } from '../support/matchers.ts';
import { useProjector } from '../support/use-projector.ts';

describe('support-cli explain', () => {
  const { environment, applied, cli, deadLetters, publish, send, stop, topic } = useProjector();
  const explained = async (id: string) => {
    const { text } = await cli('explain', id, '--json');
    return JSON.parse(text) as Explanation;
  };
  /** A record of another organization for a contact. */
  const foreignContact = encode({ ...created('contact', 'con_1', {}, 99), orgId: 'org_2' }, 'structured');
  const missing = { status: 'missing', version: null, record: null };

  beforeAll(async () => {
    await publish(
      created('contact', 'con_1'),
      created('channel', 'chan_1'),
      created('ticket', 'ti_1', { tagIds: ['tag_missing'] }),
      created('ticket', 'ti_2', { requesterId: 'con_again', tagIds: ['tag_other'] }),
      { ...created('tag', 'tag_other'), orgId: 'org_2' },
      created('conversation', 'conv_1'),
      created('conversation', 'conv_pending', { channelId: 'chan_missing' }),
      created('conversation', 'conv_expired', { ticketId: 'ti_other', contactId: 'con_gone' }),
      created('message', 'msg_expired', { conversationId: 'conv_expired' }),
    );
    await send('contact', foreignContact, { key: 'con_bad', value: '{' });
    await publish(
      { ...created('contact', 'con_gone'), op: 'tombstone' },
      { ...created('contact', 'con_again'), op: 'tombstone' },
      created('contact', 'con_again', {}, 2),
    );
    await applied();
    await stop();
    // The projector has stopped, so no sweep of it deletes the expired conversation.
    await collectionOf(environment.database, 'conversation').updateOne(
      { _id: 'conv_expired' },
      { $set: { 'joined.channel.dataRetentionDays': 30 } },
    );
  });

  test('support-cli explain names the Kafka record of a document and of each of its references', async () => {
    expect((await explained('ti_1')).documents).toMatchObject([
      {
        kind: 'ticket',
        id: 'ti_1',
        status: 'living',
        version: 1,
        generation: 1,
        outdated: [],
        fanOut: null,
        record: { topic: topic('ticket'), partition: 0, offset: 0 },
        tombstone: null,
        partition: { position: 2, end: 2 },
        references: [
          { edge: 'requester', kind: 'contact', id: 'con_1', status: 'living', record: { offset: 0 } },
          { edge: 'tags', kind: 'tag', id: 'tag_missing', ...missing },
          { edge: 'conversations', id: 'conv_1', status: 'living', record: { offset: 0 } },
          { edge: 'conversations', id: 'conv_pending', status: 'living', record: { offset: 1 } },
          { edge: 'channels', id: 'chan_1', status: 'living', record: { topic: topic('channel') } },
          { edge: 'channels', id: 'chan_missing', ...missing },
        ],
      },
    ]);
  });

  test('support-cli explain says why a document is not served', async () => {
    const { text } = await cli('explain', 'conv_pending');
    expect(text).toContain('pending: not served, because a required reference is missing');
    expect(text).toMatch(/^ {2}channel +channel chan_missing: missing/m);
  });

  test.each(['conv_expired', 'msg_expired'])(
    'support-cli explain says that the retention of %s has ended',
    async (id) => {
      const [document] = (await explained(id)).documents;
      expect(document).toMatchObject({ status: 'living', servedUntil: matching(/Z$/) });
      const { text } = await cli('explain', id);
      expect(text).toContain(`expired at ${document?.servedUntil}: the API answers 404`);
      expect((await explained('conv_1')).documents).toMatchObject([{ servedUntil: null }]);
    },
  );

  test('support-cli explain names the Kafka tombstone of a deleted entity, and a later record', async () => {
    const gone = { orgId: null, status: 'deleted', record: null, tombstone: { topic: topic('contact') } };
    expect((await explained('con_gone')).documents).toMatchObject([{ kind: 'contact', ...gone }]);
    const recreated = { status: 'living', record: { offset: 5 }, tombstone: { offset: 4 } };
    expect((await explained('con_again')).documents).toMatchObject([recreated]);
  });

  test('support-cli explain reports a reference to an entity of another organization', async () => {
    const [document] = (await explained('ti_2')).documents;
    expect(document?.references).toMatchObject([
      { id: 'con_again', status: 'living', version: 2 },
      { id: 'tag_other', status: 'other organization', version: 1 },
    ]);
  });

  test('support-cli explain reports a reference to an entity of an unknown organization as deleted', async () => {
    const [conversation] = (await explained('conv_expired')).documents;
    const contact = conversation?.references.find(({ id }) => id === 'con_gone');
    expect(contact).toMatchObject({ status: 'deleted' });
  });

  test('support-cli explain exits with code 1 for an id that no document and no dead letter names', async () => {
    expect(await cli('explain', 'ti_unknown')).toMatchObject({
      code: 1,
      text: matching(/^ti_unknown: no living generation .* and no dead letter names it\. Complete/),
    });
    expect(await cli('explain', 'ti_unknown', '--json')).toMatchObject({ code: 1 });
  });

  test('support-cli explain names the refused records of an entity, and the command that shows each record', async () => {
    const [refused] = await deadLetters(({ offset }) => offset === 1);
    const { code, text } = await cli('explain', 'con_1');
    expect(code).toBe(0);
    expect(text).toMatch(/^ {2}status +living/m);
    const rejection = 'wrong_organization: orgid: the entity is known under another organization';
    const command = `npx support-cli dead-letters show ${refused?._id}`;
    expect(text).toContain(`refused      ${topic('contact')}/0/1, version 99, ${rejection} → ${command}`);
  });

  test('support-cli explain names the refused records of an id without a document', async () => {
    const { code, text } = await cli('explain', 'con_bad');
    expect(code).toBe(0);
    expect(text).toMatch(/^con_bad: no living generation has a document with this id\. Complete/);
    expect(text).toMatch(
      /refused +\S+\/0\/2, not_json: value: must be JSON.* → npx support-cli dead-letters show \S+\/0\/2@\d+/,
    );
  });

  test('support-cli explain names the latest ten refused records in descending order', async () => {
    const offsets = Array.from({ length: 11 }, (_, index) => 100 + index);
    for (const offset of offsets)
      await storeDeadLetter(environment, created('contact', 'con_many'), { offset, now: new Date(offset) });
    const { refused } = await explained('con_many');
    const latestTen = offsets.slice(-10);
    expect(refused.map(({ id }) => parseRecordId(id).offset)).toEqual(latestTen.reverse());
  });

  test('support-cli explain finds the document that a request has named', async () => {
    const retrievalId = 'req_01HNZX8JGFACFA36RBXDHEQN6E';
    const listId = 'req_01HNZX8JGFACFA36RBXDHEQN6F';
    const laterId = 'req_01HNZX8JGFACFA36RBXDHEQN6G';
    const at = new Date('2026-01-01T00:00:00Z');
    const common = { at, status: 200, code: null, keyId: 'key_1' };
    const retrieval = { ...common, pathId: 'ti_1', route: '/v1/tickets/:id' } as RequestTrace;
    const list = { ...common, _id: listId, pathId: null, route: '/v1/tickets' } as RequestTrace;
    const batch = { replica: 'api-1', expiresAt: new Date(Date.now() + 60_000) };
    // Without a start at the latest traces, the search would spend its limit on these earlier traces.
    const earlier = Array.from({ length: 20_000 }, () => ({ ...list, _id: 'req_0' }));
    await requestTracesOf(environment.control).insertMany([
      { ...batch, _id: 'req_0', traces: earlier },
      { ...batch, _id: retrievalId, traces: [{ ...retrieval, _id: retrievalId }, list] },
      { ...batch, _id: laterId, traces: [{ ...retrieval, _id: laterId }] },
    ]);
    const { id, requests } = await explained(retrievalId);
    expect(id).toBe('ti_1');
    const shown = { time: at.toISOString(), status: 200, code: null, key: 'key_1' };
    expect(requests).toEqual([
      { id: laterId, ...shown },
      { id: retrievalId, ...shown },
    ]);
    const { text } = await cli('explain', 'ti_1');
    expect(text).toContain(`latest requests\n  ${laterId} 2026-01-01T00:00:00.000Z, 200, key_1`);
    expect((await explained('conv_1')).requests).toEqual([]);
    expect((await cli('explain', listId)).errors).toContain('was for /v1/tickets, without an id');
  });

  test('support-cli explain lists the fields that differ from a fresh join or from the active generation', async () => {
    const { mongo, name, database, control } = environment;
    const tickets = collectionOf(database, 'ticket');
    const ticket = await tickets.findOne({ _id: 'ti_1' });
    if (!ticket) throw new Error('the test has stored no ticket');
    await tickets.updateOne({ _id: 'ti_1' }, { $set: { 'joined.requester.name': 'Eve' } });
    const times = { since: new Date() };
    const second = { number: 2, projectionVersion, state: 'ready' as const, ...times };
    // Another release joins the documents of generation 3.
    const third = { ...second, number: 3, projectionVersion: projectionVersion + 1 };
    const dropping = { ...second, number: 4, state: 'dropping' as const };
    await generationsOf(control).updateOne(
      { _id: 'active' },
      { $push: { generations: { $each: [second, third, dropping] } } },
    );
    const builds = [2, 3, 4].map((number) => mongo.db(`${name}_g${number}`));
    for (const build of builds) await collectionOf(build, 'ticket').insertOne(ticket);
    const { documents } = await explained('ti_1');
    for (const build of builds) await build.dropDatabase();
    expect(documents).toMatchObject([
      { generation: 1, outdated: ['joined.requester'], differsFromActive: null },
      { generation: 2, generationState: 'ready', differsFromActive: ['joined.requester'] },
      { generation: 3, outdated: null },
    ]);
  });
});
