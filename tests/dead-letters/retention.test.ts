import { ensureDeadLetterIndexes } from '../../shared/control/ledger-store.ts';
import { day, eventsOf, useReadModel } from '../retention/read-model.ts';
import { standingLetters, storeDeadLetter } from '../support/dead-letters.ts';
import type { Event } from '../support/events.ts';

const { channel, ticket, conversation, message } = eventsOf('a');

describe('dead letters about an expired conversation', () => {
  const model = useReadModel();
  let offset = 0;
  beforeEach(async () => {
    await ensureDeadLetterIndexes(model.control);
    await model.apply([channel(), ticket, conversation(0)]);
  });

  /** Stores a dead letter of an event that was published on a day. */
  const storeRejected = (event: Event, published: number) => {
    const now = day(published);
    const timestampMs = day(published).getTime();
    offset += 1;
    return storeDeadLetter(model, event, { offset, timestampMs, now });
  };
  const deadLetters = async () => {
    const letters = (await standingLetters(model.control)).toSorted((a, b) => a.offset - b.offset);
    return letters.map(({ subjects }) => subjects?.[0]);
  };
  const isServed = async (onDay: number) => (await model.answersAt('a', day(onDay))).conversation !== null;

  test('are erased when their records expire', async () => {
    // Three dead letters are about conversation a, and one is about conversation b.
    await storeRejected(message(5), 5);
    await storeRejected(conversation(5, 2), 5);
    await storeRejected(message(35), 35);
    await storeRejected(eventsOf('b').message(5), 5);
    // On day 45, the sweep erases the older dead letters, and the API no longer serves the conversation.
    expect(await model.sweepAsOf(day(45))).toEqual({ conversations: 0, messages: 0 });
    expect(await deadLetters()).toEqual(['msg_a_035', 'msg_b_005']);
    expect(await isServed(45)).toBe(false);
    // After the last dead letter has expired, nothing of the conversation remains.
    expect(await model.sweepAsOf(day(65, -1))).toEqual({ conversations: 0, messages: 0 });
    expect(await model.sweepAsOf(day(65))).toEqual({ conversations: 1, messages: 0 });
    expect(await deadLetters()).toEqual(['msg_b_005']);
    expect(await model.allDocuments()).not.toContain('title of a');
  });

  test('stay if they arrive after the sweep, because they may restore the conversation', async () => {
    await storeRejected(message(0), 0);
    await model.sweepAsOf(day(30, -1));
    expect(await deadLetters()).toEqual(['msg_a_000']);
    expect(await model.sweepAsOf(day(30))).toEqual({ conversations: 1, messages: 0 });
    expect(await deadLetters()).toEqual([]);
    await storeRejected(conversation(31, 2), 31);
    await model.sweepAsOf(day(300));
    expect(await deadLetters()).toEqual(['conv_a']);
  });
});
