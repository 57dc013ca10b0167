import { createHash } from 'node:crypto';
import { BSON, type Binary } from 'mongodb';
import { anyId, prefixedId } from '../../../shared/documents/fields.ts';
import type { KafkaRecord } from '../events/change.ts';
import { readContent } from '../events/content-mode.ts';
import { entityVersion } from '../events/envelope.ts';
import { encodeHeaders } from '../events/headers.ts';
import { kindOfTopic } from '../events/topics.ts';
import { contentOf } from './truncate.ts';
import { subjectsOf } from './subjects.ts';
import type { DeadLetter, RecordFields } from './collection.ts';

/** The part of a dead letter that comes from its record. */
export function recordFields(topic: string, prefix: string, record: KafkaRecord): RecordFields {
  const { partition, offset, timestampMs } = record.position;
  return {
    topic,
    partition,
    offset,
    ...contentOf(record),
    timestampMs,
    ...identityOf(record),
    subjects: subjectsOf(kindOfTopic(topic, prefix), record),
  };
}

/** The place of a record, as an id. A topic that was created again has another record there. */
export const placeOf = ({ topic, partition, offset }: RecordFields): string =>
  `${topic}/${partition}/${offset}`;

/** Tells records at one place apart, by content and timestamp. The order of headers with different names is irrelevant. */
export function fingerprint({ timestampMs, key, headers, value, truncated }: RecordFields): string {
  const byName = headers.toSorted((a, b) => Number(a.name > b.name) - Number(a.name < b.name));
  const bytes = BSON.serialize({ timestampMs, key, headers: byName, value, truncated });
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}

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
