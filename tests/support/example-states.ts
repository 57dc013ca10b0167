import { kinds, type Kind } from '../../shared/documents/document.ts';
import { resources } from '../../shared/documents/resources.ts';
import { attributes, bytes, record } from './example-records.ts';

/** One valid state of each kind, with only the required fields and those that the tests need. */
export const examples = Object.fromEntries(kinds.map((kind) => [kind, resources[kind].example])) as {
  [K in Kind]: { id: string } & Record<string, unknown>;
};

/** A record with the state of an entity of that kind. */
export const withData = (kind: Kind, data: { id: string } & Record<string, unknown>) =>
  record(bytes({ ...attributes, type: `support.${kind}.created.v1`, subject: data.id, data }), {}, data.id);
