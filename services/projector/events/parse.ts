import { BSON } from 'mongodb';
import type { z } from 'zod';
import type { Rejection } from '../../../shared/control/rejections.ts';
import { idSchema, type Kind, states } from '../../../shared/documents/resources.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { isCodeError } from '../../../shared/store/code-errors.ts';
import { decodeText } from './bytes.ts';
import type { Change } from './change.ts';
import { type Data, type RawEvent, readContent, rejected } from './content-mode.ts';
import { type Attributes, attributes, parseType, type Verb } from './envelope.ts';
import { describeLargeHeaders } from './headers.ts';
import { newestVersion, upcast, type Upcasts, upcasts } from './upcasts.ts';

/** The change that a record makes, or the reason why the record becomes a dead letter. */
export type Parsed = { change: Change } | { rejected: Rejection };

/**
 * Parses a record of the topic of `kind`. Drops fields and headers outside the event contract, including secrets.
 * Should never throw: `parseRecord` turns a record for which this function throws into a dead letter.
 */
export function parse(kind: Kind, record: KafkaRecord, known: Upcasts = upcasts): Parsed {
  const tooLarge = describeLargeHeaders(record.headers);
  if (tooLarge) return rejected('headers_too_large', tooLarge);
  const content = readContent(record);
  if (content !== 'tombstone' && 'rejected' in content) return content;
  const key = record.key && decodeText(record.key);
  if (key === null) return rejected('key_mismatch', 'key: must be the id of the entity, in UTF-8');
  return content === 'tombstone'
    ? parseTombstone(kind, key, record)
    : parseEvent(kind, key, record, content, known);
}

function parseTombstone(kind: Kind, key: string, { position }: KafkaRecord): Parsed {
  const id = idSchema(kind).safeParse(key);
  if (!id.success) return rejected('key_mismatch', describeIssues(id.error, 'key'));
  const time = new Date(position.timestampMs);
  return { change: { op: 'tombstone', id: id.data, time, position } };
}

function parseEvent(kind: Kind, key: string, record: KafkaRecord, raw: RawEvent, known: Upcasts): Parsed {
  const { type } = raw.attributes;
  const newest = newestVersion(known, kind);
  const parsedType = typeof type === 'string' ? parseType(kind, type) : null;
  if (!parsedType || parsedType.schemaVersion > newest) {
    const reason = typeof type === 'string' ? 'unknown_type' : 'bad_envelope';
    const versions = newest === 1 ? 'v1' : `v1 to v${newest}`;
    return rejected(reason, `type: must be support.${kind}.(created|updated|deleted).${versions}`);
  }
  const envelope = attributes[kind].safeParse(raw.attributes);
  if (!envelope.success) return rejected('bad_envelope', describeIssues(envelope.error));
  if (envelope.data.subject !== key) return rejected('key_mismatch', 'subject: must equal the record key');
  const data = () => upcastData(kind, parsedType.schemaVersion, raw, known);
  return toChange(kind, parsedType.verb, envelope.data, data, record);
}

/** Turns the data into the newest schema version. An upcast gets data that was not validated, so it may throw. */
function upcastData(kind: Kind, schemaVersion: number, raw: RawEvent, known: Upcasts): Data {
  const data = raw.data();
  if ('rejected' in data) return data;
  try {
    return { value: upcast(known, kind, schemaVersion, data.value) };
  } catch (error) {
    if (!isCodeError(error)) throw error;
    // A detail never quotes data, so it cannot have the error's message.
    const into = `from schema version ${schemaVersion} into ${newestVersion(known, kind)}`;
    return rejected('bad_data', `data: cannot be turned ${into}`);
  }
}

/** Validates the data, and creates the change of an event. `newest` returns the data in the newest schema version. */
function toChange(
  kind: Kind,
  verb: Verb,
  { subject: id, orgid: orgId, entityversion: version, time }: Attributes,
  newest: () => Data,
  { position, value }: KafkaRecord,
): Parsed {
  const publishedAt = time ?? new Date(position.timestampMs);
  const fields = { id, orgId, version, time: publishedAt, position };
  if (verb === 'deleted') return { change: { op: 'delete', ...fields } };
  const data = newest();
  if ('rejected' in data) return data;
  const state = states[kind].safeParse(data.value);
  if (!state.success) return rejected('bad_data', describeIssues(state.error, 'data'));
  if (state.data.id !== id) return rejected('key_mismatch', 'data.id: must equal the subject');
  const oversize = describeOversize(value?.length ?? 0, state.data);
  if (oversize) return rejected('too_large', oversize);
  return { change: { op: 'upsert', ...fields, state: state.data } };
}

/**
 * Describes the first issue as a path and a rule, such as `data.status: Invalid option: …`. A path consists of declared
 * field names, without the indexes of lists, and a rule names the expected form, never the value. So there are few
 * different texts for any input.
 */
export function describeIssues(error: z.ZodError, root?: string): string {
  const [first, ...others] = error.issues;
  if (!first) return root ?? '';
  const names = first.path.map((name) => (typeof name === 'number' ? '[]' : String(name)));
  const path = [...(root ? [root] : []), ...names].join('.').replaceAll('.[]', '[]');
  return `${path}: ${first.message}${others.length > 0 ? '; and others' : ''}`;
}

const megabyte = 1024 * 1024;

/** MongoDB limits a document to 16 MB. Half of that is reserved for the joined fields. */
const stateBytesMax = 8 * megabyte;

/** Smaller records are not measured. BSON takes little more than JSON, because all lists are bounded. */
const measuredBytesMin = megabyte;

/** Returns a description if the state of an entity is too large to be stored, otherwise null. */
export function describeOversize(recordBytes: number, state: object): string | null {
  if (recordBytes <= measuredBytesMin) return null;
  const bytes = BSON.calculateObjectSize(state);
  if (bytes <= stateBytesMax) return null;
  return `data: takes more than ${stateBytesMax} bytes in MongoDB`;
}
