import kafkajs from 'kafkajs';
import { pino } from 'pino';
import { collectionOf } from '../../shared/store/connection.ts';
import { created } from '../support/entities.ts';
import { encode, type Event } from '../support/events.ts';
import { matching } from '../support/matchers.ts';
import { useProjector } from '../support/use-projector.ts';

describe('a projector', () => {
  const projector = useProjector({ projectors: 0, each: true });
  const { environment, topic, publish, applied, find, deadLetters, start } = projector;
  const cli = (...args: string[]) => projector.cli('dead-letters', ...args);
  const logged: Record<string, unknown>[] = [];
  const logger = pino({ level: 'error' }, { write: (line) => logged.push(JSON.parse(line) as never) });
  beforeEach(async () => {
    logged.length = 0;
    await start({ logger });
  });

  /** An event in structured mode whose data is in base64, with changes of its attributes. */
  const inBase64 = (event: Event, changes: { type?: string } = {}) => {
    const { key, value, headers } = encode(event, 'structured');
    const { data, ...attributes } = JSON.parse(String(value)) as Record<string, unknown>;
    const data_base64 = Buffer.from(JSON.stringify(data)).toString('base64');
    return { key, headers, value: JSON.stringify({ ...attributes, ...changes, data_base64 }) };
  };
  test('applies seven million characters of base64 or names them in a dead letter', async () => {
    const content = 'x'.repeat(5_500_000);
    const message = (id: string, fields = {}) =>
      created('message', id, { conversationId: 'conv_1', ...fields });
    const valid = inBase64(message('msg_1', { content }));
    expect(valid.value.length).toBeGreaterThan(7_000_000);
    const rejected = inBase64(message('msg_2', { content }), { type: 'support.message.updated.v9' });
    const compression = kafkajs.CompressionTypes.GZIP;
    for (const produced of [valid, rejected, encode(message('msg_3'), 'structured')])
      await environment.producer.send({ topic: topic('message'), messages: [produced], compression });
    await applied();
    const large = await find('message', 'msg_1');
    expect((large?.state as { content: string }).content).toBe(content);
    expect(await find('message', 'msg_3')).not.toBeNull();
    expect(await deadLetters()).toMatchObject([
      { reason: 'unknown_type', offset: 1, orgId: 'org_1', subjects: ['msg_2', 'conv_1'] },
    ]);
    expect(logged).toEqual([]);
  });

  const setUpdatedAt = (updatedAt: unknown) =>
    collectionOf(environment.database, 'conversation').updateOne(
      { _id: 'conv_1' },
      { $set: { 'state.updatedAt': updatedAt } },
    );

  /** Publishes three tickets. The join of `ti_bad` throws. */
  const publishTickets = async () => {
    await publish(created('channel', 'chan_1'));
    await publish(created('conversation', 'conv_1', { ticketId: 'ti_bad', channelId: 'chan_1' }));
    await applied();
    // After this edit by hand each join of the ticket throws, because its conversation has no valid instant.
    await setUpdatedAt('canary');
    await publish(...['ti_1', 'ti_bad', 'ti_3'].map((id) => created('ticket', id)));
    await applied();
  };

  test('stores a dead letter for a record whose join throws', async () => {
    await publishTickets();
    for (const id of ['ti_1', 'ti_3']) expect(await find('ticket', id)).not.toBeNull();
    expect(await deadLetters()).toMatchObject([
      {
        reason: 'projector_error',
        offset: 1,
        versioned: { id: 'ti_bad', version: 1 },
        detail: "join: the code throws TypeError; the projector's log says where",
      },
    ]);
    expect(logged).toMatchObject([
      { topic: topic('ticket'), partition: 0, offset: 1, thrown: matching(/^TypeError\n +at .*visibility/) },
    ]);
    expect(JSON.stringify(logged)).not.toContain('canary');
  });

  test('applies such a record by a redrive once its join no longer throws', async () => {
    const redriveAll = async () => {
      const { text } = await cli('redrive', '--all');
      return text;
    };
    await publishTickets();
    expect(await redriveAll()).toContain('projector_error: join: the code throws TypeError');
    await setUpdatedAt(new Date('2026-01-01T00:00:00Z'));
    expect(await redriveAll()).toContain('1 dead letter: 1 applied');
    const ticket = await find('ticket', 'ti_bad');
    expect(ticket?.joined).toMatchObject({ conversations: [{ id: 'conv_1' }] });
    expect(await deadLetters()).toEqual([]);
  });
});
