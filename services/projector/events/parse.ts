import type { Kind } from '../../../shared/documents/document.ts';
import { states } from '../../../shared/documents/resources.ts';
import { decodeText } from './bytes.ts';
import type { BusRecord, Change, Rejection } from './change.ts';
import { readContent, type RawEvent } from './content-mode.ts';
import { attributes, verbOf, type Attributes, type Verb } from './envelope.ts';
import { describeFaults } from './faults.ts';
import { sizeFault } from './own-size.ts';
import { idOf } from './topics.ts';

/** What a record means, or why it is set aside. */
export type Parsed = { change: Change } | { rejected: Rejection };

/**
 * Reads a record of the topic that carries `kind`. It never throws, whatever the bytes: an error out of a
 * consumer's handler would stop the consumer. Fields and headers that the contract does not name are dropped,
 * secrets among them.
 */
export function parse(kind: Kind, record: BusRecord): Parsed {
  const content = readContent(record);
  if (content !== 'tombstone' && 'rejected' in content) return content;
  const key = record.key && decodeText(record.key);
  if (key === null) return rejected('key_mismatch', 'key: must be the id of the entity, in UTF-8');
  return content === 'tombstone' ? tombstone(kind, key, record) : event(kind, key, record, content);
}

const rejected = (reason: Rejection['reason'], detail: string) => ({ rejected: { reason, detail } });

function tombstone(kind: Kind, key: string, { position }: BusRecord): Parsed {
  const id = idOf(kind).safeParse(key);
  if (!id.success) return rejected('key_mismatch', describeFaults(id.error, 'key'));
  const time = new Date(position.timestampMs);
  return { change: { op: 'tombstone', id: id.data, time, position } };
}

function event(kind: Kind, key: string, record: BusRecord, raw: RawEvent): Parsed {
  const { type } = raw.attributes;
  const verb = typeof type === 'string' ? verbOf(kind, type) : null;
  if (!verb) {
    const reason = typeof type === 'string' ? 'unknown_type' : 'bad_envelope';
    return rejected(reason, `type: must be support.${kind}.(created|updated|deleted).v1`);
  }
  const envelope = attributes[kind].safeParse(raw.attributes);
  if (!envelope.success) return rejected('bad_envelope', describeFaults(envelope.error));
  if (envelope.data.subject !== key) return rejected('key_mismatch', 'subject: must equal the record key');
  return change(kind, verb, envelope.data, raw, record);
}

function change(
  kind: Kind,
  verb: Verb,
  { subject: id, orgid: orgId, entityversion: version, time }: Attributes,
  raw: RawEvent,
  { position, value }: BusRecord,
): Parsed {
  const known = { id, orgId, version, time: time ?? new Date(position.timestampMs), position };
  if (verb === 'deleted') return { change: { op: 'delete', ...known } };
  const data = raw.data();
  if ('rejected' in data) return data;
  const own = states[kind].safeParse(data.value);
  if (!own.success) return rejected('bad_data', describeFaults(own.error, 'data'));
  if (own.data.id !== id) return rejected('key_mismatch', 'data.id: must equal the subject');
  const oversize = sizeFault(value?.length ?? 0, own.data);
  if (oversize) return rejected('too_large', oversize);
  return { change: { op: 'upsert', ...known, own: own.data } };
}
