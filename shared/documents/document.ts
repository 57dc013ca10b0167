import { entities } from './resources.ts';

/** A kind of entity. Each has one Kafka topic, and one collection named by the same word in the plural. */
export type Kind = keyof typeof entities;

export const kinds = Object.keys(entities) as Kind[];
