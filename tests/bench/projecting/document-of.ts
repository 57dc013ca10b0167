import type { Kind } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';

/** A document in the projector's form, without joins. */
export type PlainDocument = { _id: string; orgId: string; version: number; state: object };

type StructuredEvent = {
  orgid: string;
  entityversion: number;
  data: { id: string } & Record<string, unknown>;
};

/** Reads a record without validation, with instants as dates and the projector's sort keys. */
export function documentOf(kind: Kind, value: Buffer): PlainDocument {
  const { orgid, entityversion, data } = JSON.parse(value.toString()) as StructuredEvent;
  const state: Record<string, unknown> = { ...data };
  for (const name of instants) if (typeof state[name] === 'string') state[name] = new Date(state[name]);
  const sortKeys = resources[kind].sortKeys as (state: object) => object;
  return { _id: data.id, orgId: orgid, version: entityversion, state, ...sortKeys(state) };
}

const instants = ['createdAt', 'updatedAt', 'sentAt'];
