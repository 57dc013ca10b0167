import { collectionOf } from '../../shared/store/connection.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually, succeeds } from '../support/eventually.ts';
import { containing } from '../support/matchers.ts';
import { mebibyte } from '../support/memory.ts';
import { useProjector } from '../support/use-projector.ts';

describe('a topic that allows records larger than a MongoDB document', () => {
  const { topic, send, applied, deadLetters, alterTopic, ...projector } = useProjector();
  const { environment } = projector;
  beforeAll(() => alterTopic('message', { 'max.message.bytes': String(64 * mebibyte) }));

  const message = (id: string, bytes: number) =>
    encode(created('message', id, { content: 'x'.repeat(bytes) }), 'structured');
  const cli = (...args: string[]) => projector.cli('dead-letters', ...args);

  test('has a dead letter without bytes for an event that is too large', async () => {
    const tooLarge = message('msg_2', 20 * mebibyte);
    // given an event that fits a document, an event that is too large for one, and then a small event
    const fitting = message('msg_1', 7 * mebibyte);
    // The broker applies the limit of the topic a moment after it has confirmed the limit.
    await eventually(() => succeeds(send('message', fitting)));
    for (const produced of [tooLarge, message('msg_3', 1)]) await send('message', produced);
    await applied();
    const found = await collectionOf(environment.database, 'message').find().sort({ _id: 1 }).toArray();
    expect(found.map(({ _id }) => _id)).toEqual(['msg_1', 'msg_3']);
    const [letter] = await deadLetters();
    expect(letter).toMatchObject({ offset: 1, reason: 'too_large' });
    expect(letter?.bytes).toBeUndefined();
    expect((await cli('show', letter?._id ?? '')).text).toContain('(no release can apply it)');
  });

  test('keeps the dead letter after a redrive that reads the event from Kafka', async () => {
    const [before] = await deadLetters();
    const again = await cli('redrive', '--reason', 'too_large');
    expect(again).toMatchObject({ code: 1, text: containing('1 refused') });
    expect(again.text).toContain('too_large: value: must take at most 16777216 bytes');
    expect(await deadLetters()).toMatchObject([{ _id: before?._id, count: 2 }]);
    // An operator can purge the dead letter.
    expect(await cli('purge', '--all', '--yes')).toMatchObject({ code: 0 });
    expect(await deadLetters()).toEqual([]);
  });
});
