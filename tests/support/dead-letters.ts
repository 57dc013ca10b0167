import type { Db } from 'mongodb';
import { deadLetterId } from '../../services/projector/dead-letters/dead-letter.ts';
import {
  storeDeadLetters,
  type StoreDeadLettersDeps,
} from '../../services/projector/dead-letters/store-dead-letters.ts';
import type { Rejection } from '../../shared/control/rejections.ts';
import { topicOf } from '../../shared/kafka/topics.ts';
import { recordAt } from './engine.ts';
import type { Event } from './events.ts';

/** Room for every dead letter. */
export const ampleRoom: StoreDeadLettersDeps['room'] = { left: async () => 'whole', add: () => undefined };

type Options = {
  offset?: number;
  partition?: number;
  timestampMs?: number;
  /** When the worker stores it. */
  now?: Date;
  reason?: Rejection['reason'];
  generation?: number;
};

/** Stores the dead letter of an event's record, as a worker does that rejects the record. Returns its id. */
export async function storeDeadLetter(
  { control, config }: { control: Db; config?: { TOPIC_PREFIX: string } },
  event: Event,
  {
    offset = event.version,
    partition = 0,
    timestampMs = 1_700_000_000_000,
    now = new Date(),
    reason = 'bad_data',
    generation = 1,
  }: Options = {},
): Promise<string> {
  const prefix = config?.TOPIC_PREFIX ?? 'support.';
  const topic = topicOf(event.kind, prefix);
  const record = recordAt(event, { partition, offset, timestampMs });
  const rejection = { reason, detail: 'data: must be another' };
  const deps = { control, prefix, generation, now: () => now, room: ampleRoom };
  await storeDeadLetters(deps, topic, [{ record, rejection }]);
  return deadLetterId(topic, record.position);
}
