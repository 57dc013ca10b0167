import { Binary } from 'mongodb';
import type { RecordBytes } from '../../../shared/control/record-bytes.ts';
import type { OnRecordStepFailed, RecordStep, Rejection } from '../../../shared/control/rejections.ts';
import { anyId, prefixedId } from '../../../shared/documents/fields.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { kindOfTopic } from '../../../shared/kafka/topics.ts';
import { isCodeError } from '../../../shared/store/code-errors.ts';
import { readContent } from '../events/content-mode.ts';
import { entityVersion } from '../events/envelope.ts';
import { decodeHeaders, encodeHeaders, measureHeaders, type RecordHeader } from '../events/headers.ts';
import { subjectsOf } from './subjects.ts';

/** A record that is not applied. `error` is set if the projector's code has thrown it for this record. */
export type RejectedRecord = { record: KafkaRecord; rejection: Rejection; error?: unknown };

/** The stored bytes of a record, and the entities that they name: the fields that depend only on the record. */
export type RecordFields = Omit<RecordBytes, '_id' | 'storedAt'>;

/**
 * The attachment of a dead letter. If the code throws for a field, the attachment lacks that field: otherwise the
 * record would block its partition. Null if the code throws for the bytes: a redrive must not apply a part of them.
 */
export function recordFields(
  topic: string,
  prefix: string,
  record: KafkaRecord,
  onFailed: OnRecordStepFailed = () => undefined,
): RecordFields | null {
  const { partition, offset, timestampMs } = record.position;
  const orNull = <T>(step: RecordStep, read: () => T): T | null => {
    try {
      return read();
    } catch (error) {
      if (!isCodeError(error)) throw error;
      onFailed(step, error);
      return null;
    }
  };
  const content = orNull('content', () => contentOf(record));
  if (!content) return null;
  const identity = orNull('identity', () => identityOf(record)) ?? { orgId: null, versioned: null };
  return {
    topic,
    partition,
    offset,
    timestampMs,
    ...content,
    undecodable: record.undecodable ?? null,
    ...identity,
    subjects: subjectsOf(kindOfTopic(topic, prefix), record, onFailed),
  };
}

/** The record of a dead letter, as `parse` received it. */
export function recordOf(fields: Omit<RecordFields, 'topic' | 'orgId' | 'subjects'>): KafkaRecord {
  const { key, value, headers, partition, offset, timestampMs, undecodable } = fields;
  const decoded = headers.map(({ name, value: bytes }) => ({ name, value: toBuffer(bytes) }));
  const record: KafkaRecord = {
    key: toBuffer(key),
    value: toBuffer(value),
    headers: encodeHeaders(decoded),
    position: { partition, offset, timestampMs },
  };
  if (undecodable !== null) record.undecodable = undecodable;
  return record;
}

export const toBuffer = (bytes: Binary | null): Buffer | null => bytes && Buffer.from(bytes.value());

const orgIdRule = prefixedId('org_');

/** The organization, entity and version that the record's attributes name, if they can be read. */
function identityOf(record: KafkaRecord): Pick<RecordBytes, 'orgId' | 'versioned'> {
  const content = readContent(record);
  if (content === 'tombstone' || 'rejected' in content) return { orgId: null, versioned: null };
  const { orgid, subject, entityversion } = content.attributes;
  const id = anyId.safeParse(subject).data;
  const version = entityVersion.safeParse(entityversion).data;
  return {
    orgId: orgIdRule.safeParse(orgid).data ?? null,
    versioned: id !== undefined && version !== undefined ? { id, version } : null,
  };
}

/**
 * The largest record whose bytes are stored, because MongoDB limits a document to 16 MB. A redrive reads a larger
 * record from the log.
 */
export const attachedBytesMax = 8 * 1024 * 1024;

/** The size of a document without the bytes. Counting it also bounds the number of small documents of a topic. */
const documentOverheadBytes = 1024;
/**
 * The most bytes that MongoDB adds to the name and value of a header. Without them, many small headers would seem free.
 */
const headerOverheadBytes = 64;

/** The `bytes` of the record in Kafka, and the `size` that its attachment takes of the share of its topic. */
function measure({ key, value, headers }: KafkaRecord, decoded: RecordHeader[]) {
  const keyAndValue = (key?.length ?? 0) + (value?.length ?? 0);
  // A name that is not UTF-8 takes up to three times its bytes as a text.
  let headerBytes = decoded.length * headerOverheadBytes;
  for (const header of decoded) headerBytes += Buffer.byteLength(header.name) + (header.value?.length ?? 0);
  const size = keyAndValue + headerBytes + documentOverheadBytes;
  return { bytes: keyAndValue + measureHeaders(headers).bytes, size };
}

function contentOf(record: KafkaRecord) {
  const headers = decodeHeaders(record.headers);
  return {
    key: toBinary(record.key),
    headers: headers.map(({ name, value }) => ({ name, value: toBinary(value) })),
    value: toBinary(record.value),
    ...measure(record, headers),
  };
}

const toBinary = (bytes: Buffer | null | undefined): Binary | null => (bytes ? new Binary(bytes) : null);
