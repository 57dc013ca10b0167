import { describeIssues } from '../../services/projector/events/parse.ts';
import { examples, type Kind, states } from '../../shared/documents/resources.ts';
import { statesOf } from '../served-fields/states.ts';
import { everyValue } from './every-value.ts';

/** Valid states with a value in every text and list, and in each variant of a block. */
const filled: { kind: Kind; state: object }[] = [
  { kind: 'apiKey', state: examples.apiKey },
  ...[0, 1, 2].flatMap((variant) => Object.values(statesOf(variant).states)),
];

const issueOf = (kind: Kind, state: unknown): string | null => {
  const { error } = states[kind].safeParse(state);
  return error ? describeIssues(error, 'data') : null;
};

const boundedValues = filled.flatMap(({ kind, state }) =>
  [...everyValue(state, 'data')].map(({ path, value, replace }) => {
    const issueWith = (other: unknown) => issueOf(kind, replace(other));
    const issueAt = (length: number, filler = 'x') => issueWith(String(value).padEnd(length, filler));
    return { kind, path, value, replace, issueWith, issueAt };
  }),
);

/**
 * Every field of every kind: its path and an example. `replace` returns the state with another value in that field;
 * `issueWith` and `issueAt` return the issue of the state with another value, or with a text of another length.
 */
export const boundedFields = [
  ...new Map(boundedValues.map((field) => [`${field.kind} ${field.path}`, field])).values(),
];

/** Free texts: no enumerated values, instants, colors or hashes. */
export const boundedTexts = boundedFields.filter(
  ({ value, issueWith }) => typeof value === 'string' && !issueWith(`${value}x`),
);

export const boundedLists = boundedFields.filter(({ value }) => Array.isArray(value));

/** The field names by the maximum length of their text; texts in a list count by the name of the list. */
const lengths: Record<number, string> = {
  256: 'id requesterId ticketId channelId contactId assignedUserId agentId conversationId routesToChannelId tagIds topicIds',
  1_024: 'name source medium campaign displayName aiDisplayName default enabled label filename',
  4_096: 'email inbox replyTo description domain allowedDomains redirectUrl',
  65_536: 'title human ai autoReply question questionVariations',
};

/** The maximum length of a text; undefined for the texts that only the size of the state bounds. */
export function lengthMax(path: string): number | undefined {
  const field = path.split('.').findLast((name) => !/^\d+$/.test(name)) ?? '';
  const found = Object.entries(lengths).find(([, fields]) => fields.split(' ').includes(field));
  return found && Number(found[0]);
}
