import { createHash } from 'node:crypto';
import type { Kind } from '../../../shared/documents/document.ts';
import type { Edge } from '../projections/define.ts';
import { projections } from '../projections/projections.ts';

/** An edge seen from the entity it leads to. */
export type Incoming = { from: Kind; name: string; edge: Edge };

const incoming = new Map<Kind, Incoming[]>();
for (const { kind, edges } of Object.values(projections)) {
  for (const [name, edge] of Object.entries(edges)) {
    incoming.set(edge.to, [...(incoming.get(edge.to) ?? []), { from: kind, name, edge }]);
  }
}

/** The edges of all declarations that lead to a kind. */
export const incomingEdges = (kind: Kind): Incoming[] => incoming.get(kind) ?? [];

/** Whether what dependents have been shown is remembered: wherever one entity can have many of them. */
const isRemembered = ({ edge }: Incoming) => edge.type === 'refer' || edge.type === 'through';

/**
 * What each edge shows of an entity, as a hash (it must not keep personal data alive), by `<kind>.<edge>`.
 * A deleted entity shows nothing.
 */
export function faces(kind: Kind, own: unknown): Record<string, string> {
  const result: Record<string, string> = {};
  for (const { from, name, edge } of incomingEdges(kind).filter(isRemembered)) {
    const shown = own === undefined || !('take' in edge) ? null : edge.take(own as never);
    result[`${from}:${name}`] = createHash('sha256')
      .update(JSON.stringify(shown))
      .digest('base64url')
      .slice(0, 22);
  }
  return result;
}

/** Of what dependents have been shown, the part that still holds. */
export function stillShown(
  fanned: Record<string, string> | undefined,
  current: Record<string, string>,
): Record<string, string> | undefined {
  const kept = Object.entries(fanned ?? {}).filter(([edge, hash]) => current[edge] === hash);
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}

/** The edges over which dependents have still to be told. What is not remembered is always told. */
export const untold = (kind: Kind, fanned: Record<string, string> | undefined, own: unknown): Incoming[] => {
  const current = faces(kind, own);
  return incomingEdges(kind).filter((edge) => {
    const key = `${edge.from}:${edge.name}`;
    return !isRemembered(edge) || fanned?.[key] !== current[key];
  });
};
