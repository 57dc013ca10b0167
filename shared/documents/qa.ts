import { z } from 'zod';
import { type Document, type Entity, tombstoneIndex } from './entity.ts';
import {
  anyId,
  exampleInstant,
  instant,
  listOf,
  longText,
  optional,
  prefixedId,
  refersTo,
  text,
} from './fields.ts';
import { sortKey } from './instant.ts';

/** The state of a knowledge-base entry. Its question variations are kept sorted by code point. */
const qaState = z.object({
  id: anyId,
  question: longText,
  questionVariations: listOf(longText).transform((values) => values.toSorted(byCodePoint)),
  answer: text,
  agentId: optional(refersTo('agent', prefixedId('agent_'))),
  createdAt: instant,
  updatedAt: instant,
});

/** UTF-8 order, which differs from UTF-16 order beyond the basic plane. */
const byCodePoint = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

const example: z.input<typeof qaState> = {
  id: 'qa_1',
  question: 'How?',
  questionVariations: ['b', 'a'],
  answer: 'So.',
  createdAt: exampleInstant,
  updatedAt: exampleInstant,
};

type Qa = z.output<typeof qaState>;
export type QaDocument = Document<Qa>;

export const qa = {
  topic: 'knowledge-qas',
  idPrefix: '',
  state: qaState,
  example,
  collection: 'qas',
  indexes: [{ name: 'created', key: { orgId: 1, byCreated: 1 } }, tombstoneIndex],
  sortKeys: ({ id, createdAt }: Qa) => ({ byCreated: sortKey(createdAt, id) }),
} as const satisfies Entity<Qa>;
