import { createHash } from 'node:crypto';
import { Binary } from 'mongodb';
import type { DeadLetter, DeadLetterHeader, RecordFields } from '../../../shared/control/dead-letters.ts';
import type { OnStepFailed, Rejection, Step } from '../../../shared/control/rejections.ts';
import { anyId, prefixedId } from '../../../shared/documents/fields.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { kindOfTopic } from '../../../shared/kafka/topics.ts';
import { isCodeError } from '../../../shared/store/code-errors.ts';
import { readContent } from '../events/content-mode.ts';
import { entityVersion } from '../events/envelope.ts';
import { decodeHeaders, encodeHeaders, measureHeaders, noHeaders } from '../events/headers.ts';
import { subjectsOf } from './subjects.ts';

/** A record that is not applied. `error` is set if the code has thrown it for the record. */
export type RejectedRecord = { record: KafkaRecord; rejection: Rejection; error?: unknown };

type FieldOptions = {
  /** How much of the record is stored; by default all of it, up to 8 MB. */
  limits?: ContentLimits | undefined;
  /** Called for each field for which the code throws. */
  onFailed?: OnStepFailed;
};

/**
 * The part of a dead letter that comes from its record. A field for which the code throws is left out: the record would
 * hold its partition otherwise.
 */
export function recordFields(
  topic: string,
  prefix: string,
  record: KafkaRecord,
  { limits = wholeRecords, onFailed = () => undefined }: FieldOptions = {},
): RecordFields {
  const { partition, offset, timestampMs } = record.position;
  const orElse = <T>(step: Step, read: () => T, otherwise: () => T): T => {
    try {
      return read();
    } catch (error) {
      if (!isCodeError(error)) throw error;
      onFailed(step, error);
      return otherwise();
    }
  };
  return {
    topic,
    partition,
    offset,
    ...orElse(
      'content',
      () => contentOf(record, limits),
      () => contentOf({ ...record, headers: noHeaders, undecodable: 'headers' }, limits),
    ),
    timestampMs,
    ...orElse(
      'identity',
      () => identityOf(record),
      () => ({ orgId: null, versioned: null }),
    ),
    subjects: subjectsOf(kindOfTopic(topic, prefix), record, onFailed),
  };
}

export const deadLetterId = (
  topic: string,
  { partition, offset, timestampMs }: KafkaRecord['position'],
): string => `${topic}/${partition}/${offset}@${timestampMs}`;

/** The record of a dead letter that is not truncated, as `parse` received it. */
export function recordOf({ key, value, headers, partition, offset, timestampMs }: RecordFields): KafkaRecord {
  return {
    key: buffer(key),
    value: buffer(value),
    headers: encodeHeaders(headers.map(({ name, value: bytes }) => ({ name, value: buffer(bytes) }))),
    position: { partition, offset, timestampMs },
  };
}

export const buffer = (bytes: Binary | null): Buffer | null => bytes && Buffer.from(bytes.value());

const orgIdRule = prefixedId('org_');

/** The organization, entity and version that the record's attributes name, if they can be read. */
function identityOf(record: KafkaRecord): Pick<DeadLetter, 'orgId' | 'versioned'> {
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

/** A record of up to `whole` bytes is stored whole. Of a larger one, only the head is stored: these parts. */
type ContentLimits = { whole: number; key: number; headers: number; value: number };

/** A document in the store holds 16 MB. */
const wholeRecords: ContentLimits = {
  whole: 8 * 1024 * 1024,
  key: 1024,
  headers: 64 * 1024,
  value: 64 * 1024,
};

/** The limits while the dead letters take more than their bound. */
export const shortHeads: ContentLimits = { whole: 2048, key: 1024, headers: 0, value: 1024 };

/** Overhead of a header in a document besides its name and value, at most. It matters for many small headers. */
const headerOverheadBytes = 64;

/**
 * The key, headers and value that a dead letter stores: all of them or, of a large record, the head of key and value,
 * and the headers only if they are small. Sizes and hash then tell whether a record that is published again is the
 * same. Of a batch that cannot be decoded, the head is stored.
 */
function contentOf({ key, value, headers, undecodable }: KafkaRecord, limits: ContentLimits) {
  const keyBytes = key?.length ?? 0;
  const valueBytes = value?.length ?? 0;
  const { count, bytes: headersBytes } = measureHeaders(headers);
  const bytes = keyBytes + headersBytes + valueBytes;
  const overheadBytes = count * headerOverheadBytes;
  if (bytes + overheadBytes <= limits.whole && undecodable === undefined) {
    return { key: binary(key), headers: stored(headers), value: binary(value), bytes, truncated: null };
  }
  const sha256 = createHash('sha256')
    .update(value ?? '')
    .digest('hex');
  return {
    key: binary(key?.subarray(0, limits.key)),
    headers: headersBytes + overheadBytes <= limits.headers ? stored(headers) : [],
    value: binary(value?.subarray(0, limits.value)),
    bytes,
    truncated: { keyBytes, headersBytes, valueBytes, sha256 },
  };
}

const stored = (headers: KafkaRecord['headers']): DeadLetterHeader[] =>
  decodeHeaders(headers).map(({ name, value }) => ({ name, value: binary(value) }));

const binary = (bytes: Buffer | null | undefined): Binary | null => (bytes ? new Binary(bytes) : null);
