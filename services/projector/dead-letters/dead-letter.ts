import { Binary } from 'mongodb';
import type { RecordBytes } from '../../../shared/control/record-bytes.ts';
import type { OnStepFailed, Rejection, Step } from '../../../shared/control/rejections.ts';
import { anyId, prefixedId } from '../../../shared/documents/fields.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { kindOfTopic } from '../../../shared/kafka/topics.ts';
import { isCodeError } from '../../../shared/store/code-errors.ts';
import { readContent } from '../events/content-mode.ts';
import { entityVersion } from '../events/envelope.ts';
import { decodeHeaders, encodeHeaders, measureHeaders, type RecordHeader } from '../events/headers.ts';
import { subjectsOf } from './subjects.ts';

/** A record that is not applied. `error` is set if the code has thrown it for the record. */
export type RejectedRecord = { record: KafkaRecord; rejection: Rejection; error?: unknown };

/** The bytes of a record, and the entities that they name. Only the record decides both. */
export type RecordFields = Omit<RecordBytes, '_id' | 'storedAt'>;

/**
 * The attachment of a dead letter. It lacks a field for which the code throws, because the record would otherwise hold
 * its partition. Null if the code throws for the bytes, because a redrive must not apply a part of them.
 */
export function recordFields(
  topic: string,
  prefix: string,
  record: KafkaRecord,
  onFailed: OnStepFailed = () => undefined,
): RecordFields | null {
  const { partition, offset, timestampMs } = record.position;
  const orNull = <T>(step: Step, read: () => T): T | null => {
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
  return {
    topic,
    partition,
    offset,
    timestampMs,
    ...content,
    undecodable: record.undecodable ?? null,
    ...(orNull('identity', () => identityOf(record)) ?? { orgId: null, versioned: null }),
    subjects: subjectsOf(kindOfTopic(topic, prefix), record, onFailed),
  };
}

/** The record of a dead letter, as `parse` received it. */
export function recordOf(fields: Omit<RecordFields, 'topic' | 'orgId' | 'subjects'>): KafkaRecord {
  const { key, value, headers, partition, offset, timestampMs, undecodable } = fields;
  return {
    key: buffer(key),
    value: buffer(value),
    headers: encodeHeaders(headers.map(({ name, value: bytes }) => ({ name, value: buffer(bytes) }))),
    position: { partition, offset, timestampMs },
    ...(undecodable !== null && { undecodable }),
  };
}

export const buffer = (bytes: Binary | null): Buffer | null => bytes && Buffer.from(bytes.value());

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

/** A document in the store holds 16 MB. A larger record has no bytes: a redrive reads it from the log. */
export const attachedBytesMax = 8 * 1024 * 1024;

/** The size of a document besides its bytes. It bounds the number of documents. */
const documentOverheadBytes = 1024;
/** Overhead of a header in a document besides its name and value, at most. It matters for many small headers. */
const headerOverheadBytes = 64;

/** The size of a record, and the part of the share of its topic that its attachment would take. */
function measure({ key, value, headers }: KafkaRecord, decoded: RecordHeader[]) {
  const rest = (key?.length ?? 0) + (value?.length ?? 0);
  // A name that is not UTF-8 takes up to three times its bytes as a text.
  const stored = decoded.reduce(
    (sum, one) => sum + Buffer.byteLength(one.name) + (one.value?.length ?? 0),
    0,
  );
  const size = rest + stored + decoded.length * headerOverheadBytes + documentOverheadBytes;
  return { bytes: rest + measureHeaders(headers).bytes, size };
}

function contentOf(record: KafkaRecord) {
  const headers = decodeHeaders(record.headers);
  return {
    key: binary(record.key),
    headers: headers.map(({ name, value }) => ({ name, value: binary(value) })),
    value: binary(record.value),
    ...measure(record, headers),
  };
}

const binary = (bytes: Buffer | null | undefined): Binary | null => (bytes ? new Binary(bytes) : null);
