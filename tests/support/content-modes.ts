import type { Kind } from '../../shared/documents/resources.ts';
import type { KafkaRecord } from '../../shared/kafka/record-format.ts';
import { attributes, bytes, ce, type Given, type Headers, record } from './example-records.ts';

/** An entity's event, with further attributes. Its subject and its key are the id in its data. */
type Example = { kind: Kind; data: object; changes?: Given };

const attributesOf = ({ kind, data, changes: changes }: Example) => {
  const subject = (data as { id?: unknown }).id;
  return { ...attributes, type: `support.${kind}.updated.v1`, subject, ...changes };
};

const recordOf = (value: Buffer, headers: Headers, { subject }: { subject: unknown }): KafkaRecord =>
  record(value, headers, String(subject));

const structured = (example: Example, data: object, headers: Headers = {}): KafkaRecord => {
  const event = attributesOf(example);
  return recordOf(bytes({ ...event, ...data }), headers, event);
};

const binary = (example: Example, headers: Headers = {}): KafkaRecord => {
  const event = attributesOf(example);
  return recordOf(bytes(example.data), { ...headers, ...ce(event) }, event);
};

const contentType = { 'content-type': 'application/cloudevents+json; charset=utf-8' };
const inBase64 = (data: object) => ({ data_base64: bytes(data).toString('base64') });

/** The record of an event in each content mode of the CloudEvents binding that the contract names. */
export const contentModes: Record<string, (example: Example) => KafkaRecord> = {
  structured: (example) => structured(example, { data: example.data }, contentType),
  'structured, data in base64': (example) => structured(example, inBase64(example.data), contentType),
  'structured by its value alone': (example) => structured(example, { data: example.data }),
  binary: (example) => binary(example, { 'content-type': 'application/json' }),
  'binary without a content type': (example) => binary(example),
};
