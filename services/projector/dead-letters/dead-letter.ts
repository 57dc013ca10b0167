import { createHash } from 'node:crypto';
import { Binary, BSON } from 'mongodb';
import { anyId, prefixedId } from '../../../shared/documents/fields.ts';
import type { KafkaRecord } from '../events/change.ts';
import { readContent } from '../events/content-mode.ts';
import { entityVersion } from '../events/envelope.ts';
import { kindOfTopic } from '../events/topics.ts';
import { contentOf } from './truncate.ts';
import { subjectsOf } from './subjects.ts';
import type { DeadLetter, DeadLetterHeader, RecordFields } from './collection.ts';

/** The part of a dead letter that comes from its record. */
export function recordFields(topic: string, prefix: string, record: KafkaRecord): RecordFields {
  const { partition, offset, timestampMs } = record.position;
  return {
    topic,
    partition,
    offset,
    ...contentOf(record, headersOf(record)),
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
  const byName = Map.groupBy(headers, ({ name }) => name);
  // A header may have no value at all; `parse` ignores it.
  const values = [...byName].map(([name, ofName]) => [name, ofName.map(({ value: bytes }) => buffer(bytes))]);
  return {
    key: buffer(key),
    value: buffer(value),
    headers: Object.fromEntries(values) as KafkaRecord['headers'],
    position: { partition, offset, timestampMs },
  };
}

export const buffer = (bytes: Binary | null): Buffer | null => bytes && Buffer.from(bytes.value());

/** kafkajs mixes members of `Object.prototype` into headers with their names. Values without bytes are left out. */
function headersOf({ headers }: KafkaRecord): DeadLetterHeader[] {
  return Object.entries(headers).flatMap(([name, content]) =>
    ([content].flat() as unknown[]).flatMap((value): DeadLetterHeader[] => {
      if (value === null) return [{ name, value: null }];
      if (typeof value === 'string') return [{ name, value: new Binary(Buffer.from(value)) }];
      return value instanceof Uint8Array ? [{ name, value: new Binary(value) }] : [];
    }),
  );
}

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
