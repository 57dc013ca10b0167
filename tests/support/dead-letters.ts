import type { Db } from 'mongodb';
import type { RecordFields } from '../../services/projector/dead-letters/dead-letter.ts';
import {
  storeDeadLetters,
  type StoreDeadLettersDeps,
} from '../../services/projector/dead-letters/store-dead-letters.ts';
import {
  type LedgerRecord,
  recordId,
  type RecordKey,
  rejectRecords,
  spanIdOf,
} from '../../shared/control/ledger.ts';
import { changeSpans, readSpans, unappliedRecords } from '../../shared/control/ledger-store.ts';
import { recordBytesOf } from '../../shared/control/record-bytes.ts';
import type { Rejection } from '../../shared/control/rejections.ts';
import { topicOf } from '../../shared/kafka/topics.ts';
import { recordAt } from './engine.ts';
import type { Event } from './events.ts';

/** Shares with space for the bytes of every dead letter. */
export const ampleShares: StoreDeadLettersDeps['shares'] = {
  left: async () => 2 ** 40,
  add: () => undefined,
};
/** Shares without space for the bytes of a dead letter. */
export const fullShares: StoreDeadLettersDeps['shares'] = { left: async () => 0, add: () => undefined };

/** A dead letter that stands unapplied, with the fields of its bytes, if they are stored. */
export type StandingLetter = LedgerRecord & { _id: string } & Partial<Pick<RecordFields, ByteField>>;
type ByteField = 'key' | 'value' | 'headers' | 'bytes' | 'orgId' | 'versioned' | 'subjects' | 'undecodable';

/** The dead letters that stand unapplied, in the order of the ledger. */
export async function standingLetters(control: Db): Promise<StandingLetter[]> {
  const entries: LedgerRecord[] = [];
  for await (const span of readSpans(control, {})) entries.push(...unappliedRecords(span));
  const found = await recordBytesOf(control).find().toArray();
  const byId = new Map(found.map((bytes) => [bytes._id, bytes]));
  return entries.map((entry) => ({ ...byId.get(recordId(entry)), ...entry, _id: recordId(entry) }));
}

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
  const deps = { control, prefix, generation, now: () => now, shares: ampleShares };
  await storeDeadLetters(deps, topic, [{ record, rejection }]);
  return recordId({ topic, partition, offset, timestampMs });
}

/** Adds a record to the ledger for some generations, without bytes. Returns its id. */
export async function addToLedger(
  control: Db,
  record: RecordKey & Rejection,
  generations: number[],
  now = new Date(),
): Promise<string> {
  for (const generation of generations)
    await changeSpans(control, [spanIdOf(record)], (span) =>
      rejectRecords(span, [record], { generation, now }),
    );
  return recordId(record);
}
