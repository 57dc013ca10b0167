import type { LedgerRecord } from '../../../shared/control/ledger.ts';
import type { RecordBytes, RecordHeaderBytes } from '../../../shared/control/record-bytes.ts';
import type { Rejection } from '../../../shared/control/rejections.ts';
import { recordTime, recordTimeText } from '../../../shared/documents/instant.ts';
import { idSchema } from '../../../shared/documents/resources.ts';
import { kindOfTopic } from '../../../shared/kafka/topics.ts';
import { counted, digits } from '../../../shared/runtime/counted.ts';
import { toBuffer } from '../../projector/dead-letters/dead-letter.ts';
import { decodeText } from '../../projector/events/bytes.ts';
import type { Row } from '../row.ts';

/** A dead letter, joined with its bytes; null if they are not stored. */
export type DeadLetter<Bytes = RecordBytes> = { id: string; entry: LedgerRecord; bytes: Bytes | null };

/**
 * A dead letter for display, without its value and the values of its headers, which may contain secrets and personal
 * data. Instants are ISO 8601.
 */
export type DeadLetterDetails = Pick<
  LedgerRecord,
  'topic' | 'partition' | 'offset' | 'reason' | 'detail' | 'count' | 'generations'
> & {
  id: string;
  /** The key if it is an id, else its size, such as `<12 bytes>`; `unknown` without the bytes of the record. */
  key: string;
  /** The id of the organization, or its size; null without the bytes, or if the record names no organization. */
  orgId: string | null;
  firstAt: string;
  lastAt: string;
  /** Null if the record's timestamp is invalid. */
  recordAt: string | null;
  /** The size of the record; null if its bytes are not stored. A redrive then reads the record from the log. */
  bytes: number | null;
  /** The offsets of a batch that cannot be decoded; null for other records, or without their bytes. */
  undecodable: string | null;
  /** Some names of its headers; null if they were not read, or are not stored. */
  headerNames: string[] | null;
};

type DisplayedBytes = Omit<RecordBytes, 'headers' | 'value'> & { headers?: RecordHeaderBytes[] };

/** A dead letter shows at most this many header names. */
const headerNamesMax = 10;
/** A dead letter shows at most this many characters of a header name. */
const headerNameLengthMax = 40;

const headerNameText = ({ name }: RecordHeaderBytes): string =>
  name.slice(0, headerNameLengthMax).replace(/[^\x21-\x7e]/g, '?');

/** No release can apply a record that has one of these reasons: the source system must publish its entity again. */
const finalReasons: ReadonlySet<string> = new Set<Rejection['reason']>([
  'not_json',
  'key_mismatch',
  'too_large',
  'undecodable',
]);

/** The verb for a dead letter: `purge` if no release can apply its record. */
export const verbFor = (reason: string): 'redrive' | 'purge' =>
  finalReasons.has(reason) ? 'purge' : 'redrive';

/** The part of a dead letter that may be displayed. */
export function deadLetterDetails(
  { id, entry, bytes }: DeadLetter<DisplayedBytes>,
  prefix: string,
): DeadLetterDetails {
  const { topic, partition, offset, reason, detail, count, generations } = entry;
  return {
    id,
    topic,
    partition,
    offset,
    key: bytes ? keyText(bytes, prefix) : 'unknown',
    orgId: bytes?.orgId ? idText(bytes.orgId) : null,
    reason,
    detail,
    firstAt: entry.firstAt.toISOString(),
    lastAt: entry.lastAt.toISOString(),
    count,
    generations,
    recordAt: recordTime(entry.timestampMs),
    bytes: bytes?.bytes ?? null,
    undecodable: bytes?.undecodable ?? null,
    headerNames: bytes?.headers?.slice(0, headerNamesMax).map(headerNameText) ?? null,
  };
}

export const deadLetterRows = (details: DeadLetterDetails): Row[] => [
  ['record', details.id],
  ['key', details.key],
  ['org', details.orgId ?? 'unknown'],
  ['timestamp', recordTimeText(details.recordAt)],
  [
    'size',
    details.bytes === null
      ? 'its bytes are not stored; a redrive reads the record from Kafka'
      : counted(details.bytes, 'byte'),
  ],
  ['reason', details.reason],
  ['detail', details.detail],
  ['batch', details.undecodable],
  ['headers', details.headerNames && (details.headerNames.join(', ') || 'none')],
  ['stored', `${digits(details.count)}×, first ${details.firstAt}, last ${details.lastAt}`],
  ['generations', details.generations.join(', ')],
];

/** The key if it is an id of its kind, else its size: another key may be a name, an address or a secret. */
function keyText({ topic, key }: Pick<RecordBytes, 'topic' | 'key'>, prefix: string): string {
  const bytes = toBuffer(key);
  if (bytes === null) return 'null';
  const kind = kindOfTopic(topic, prefix);
  const text = decodeText(bytes);
  const isId = kind !== null && text !== null && idSchema(kind).safeParse(text).success;
  return isId ? idText(text) : sizeText(bytes);
}

/** An id, or its size if it has characters that only a name or an address has. */
const idText = (id: string): string => (/^[A-Za-z0-9_-]{1,64}$/.test(id) ? id : sizeText(Buffer.from(id)));

const sizeText = (bytes: Buffer) => `<${counted(bytes.length, 'byte')}>`;
