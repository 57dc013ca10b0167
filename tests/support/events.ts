import type { KafkaMessage } from 'kafkajs';
import type { Event } from '../../infra/sample-data/encode.ts';
import { idPrefixOf } from '../../infra/sample-data/entity.ts';
import { type Kind, kinds } from '../../shared/documents/resources.ts';

export { encode, type Event, type Produced } from '../../infra/sample-data/encode.ts';

/** Decodes a record in either content mode, without the projector's parser. */
export function decode(
  kind: Kind,
  { key, value, headers = {} }: Pick<KafkaMessage, 'key' | 'value' | 'headers'>,
): Event {
  const isBinary = headers.ce_type !== undefined;
  const id = String(key);
  if (!value && !isBinary) return { kind, id, orgId: '', version: 0, op: 'tombstone', time: new Date(0) };
  const body = value ? (JSON.parse(value.toString()) as Record<string, unknown>) : undefined;
  const attribute = (name: string) => String(isBinary ? headers[`ce_${name}`] : body?.[name]);
  const data = (isBinary ? body : body?.data) as Event['data'];
  return {
    kind,
    id,
    orgId: attribute('orgid'),
    version: Number(attribute('entityversion')),
    op: attribute('type').split('.')[2] as Event['op'],
    time: new Date(attribute('time')),
    ...(data && { data }),
  };
}

/** The prefix of each kind's ids. */
export const idPrefixes = Object.fromEntries(kinds.map((kind) => [kind, idPrefixOf(kind)])) as {
  [K in Kind]: string;
};
