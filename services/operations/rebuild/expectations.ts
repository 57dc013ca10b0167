import { z } from 'zod';
import { type Kind, kinds, states } from '../../../shared/documents/resources.ts';
import { edgesOf } from '../../projector/materialize/edges.ts';
import { projections } from '../../projector/projections/projections.ts';
import { differenceClasses, type Expectation } from './differences.ts';

const envelopeFields = ['orgId', 'byCreated', 'byUpdated'];

/** The names of a schema's fields; for a channel, the fields of all its types. */
function fieldNames(schema: z.ZodType): string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  if (schema instanceof z.ZodPipe) return fieldNames(schema.in as z.ZodType);
  if (schema instanceof z.ZodUnion)
    return schema.options.flatMap((option) => fieldNames(option as z.ZodType));
  return [];
}

/** The paths that an expectation for a kind may name. */
function knownFields(kind: Kind): string[] {
  const resolved = edgesOf(kind).map((edge) => {
    if (edge.type === 'children') return [edge.name, { items: [], moreAfter: null }];
    return [edge.name, edge.type === 'reference' && edge.single ? null : []];
  });
  const { joined } = projections[kind].join(Object.fromEntries(resolved) as Record<string, unknown>);
  return [
    ...envelopeFields,
    ...fieldNames(states[kind]).map((name) => `state.${name}`),
    ...Object.keys(joined).map((name) => `joined.${name}`),
  ];
}

/**
 * Parses `kind:field`; `*` is any kind. Returns an error text if this release has no such kind, class or field, because
 * a misspelt expectation would accept nothing, or more than intended.
 */
export function parseExpectation(text: string): Expectation | { error: string } {
  const [, name = '', field = ''] = /^([A-Za-z]+|\*):([A-Za-z][A-Za-z.-]*)$/.exec(text) ?? [];
  const kind = name === '*' ? name : kinds.find((known) => known === name);
  if (kind === undefined)
    return { error: `It takes kind:field, with one of these kinds: ${kinds.join(', ')}, or *.` };
  if (differenceClasses.some((known) => known === field)) return { kind, field };
  const expectedKinds = kind === '*' ? kinds : [kind];
  const fields = new Set(expectedKinds.flatMap(knownFields));
  const isKnown = [...fields].some((known) => field === known || field.startsWith(`${known}.`));
  if (isKnown) return { kind, field };
  const allowed = kind === '*' ? '' : ` of ${kind}: ${[...fields].join(', ')}`;
  return { error: `${field} is neither a class (${differenceClasses.join(', ')}) nor a field${allowed}.` };
}
