import { examples, type Kind, kinds, resources } from '../../shared/documents/resources.ts';
import type { Event } from './events.ts';

/** An event with the state of an entity of `org_1`: the example of its kind, with changes. */
export const created = (
  kind: Kind,
  id: string,
  changes: Record<string, unknown> = {},
  version = 1,
): Event => ({
  kind,
  id,
  orgId: 'org_1',
  version,
  op: version === 1 ? 'created' : 'updated',
  data: { ...examples[kind], ...changes, id },
  time: new Date(),
});

/** The id of the example in a collection. */
export function exampleId(collection: string | undefined): string | undefined {
  const found = kinds.find((kind) => resources[kind].collection === collection);
  return found && examples[found].id;
}
