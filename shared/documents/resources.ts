import type { z } from 'zod';
import { apiKey } from './api-key.ts';
import { channel } from './channel.ts';
import { conversation } from './conversation.ts';
import { agent, contact, tag, topic, user } from './embedded.ts';
import type { Entity } from './entity.ts';
import { anyId, prefixedId } from './fields.ts';
import { message } from './message.ts';
import { qa } from './qa.ts';
import { ticket } from './ticket.ts';

/** Every entity, in the order of the event contract. Topics, ids, collections and types follow from this table. */
export const entities = {
  apiKey,
  contact,
  user,
  agent,
  tag,
  topic,
  channel,
  ticket,
  conversation,
  message,
  qa,
};

type Entities = typeof entities;

/** A kind of entity. Each has one Kafka topic, and one collection named by the same word in the plural. */
export type Kind = keyof Entities;

export const kinds = Object.keys(entities) as Kind[];

/** The state of each entity, as stored under `state`. */
export type EntityState = { [K in Kind]: z.output<Entities[K]['state']> };

/** The name of an index of a kind. */
export type IndexName<K extends Kind> = Entities[K]['indexes'][number]['name'];

/** The entities, for code that works with any kind. */
export const resources: { [K in Kind]: Entity<EntityState[K]> } = entities;

/** The schema of the ids of a kind. */
export const idSchema = (kind: Kind) => {
  const { idPrefix } = resources[kind];
  return idPrefix ? prefixedId(idPrefix) : anyId;
};

/** The schema of each entity's `data` in an event. */
export const states = Object.fromEntries(
  Object.entries(entities).map(([kind, { state }]) => [kind, state]),
) as { [K in Kind]: Entities[K]['state'] };

/** An example of each entity's `data`. */
export const examples = Object.fromEntries(
  Object.entries(entities).map(([kind, { example }]) => [kind, example]),
) as { [K in Kind]: Entities[K]['example'] };
