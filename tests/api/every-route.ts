import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Route } from '../../services/api/http/route.ts';
import { createRoutes } from '../../services/api/resources/routes.ts';
import { projectionVersion } from '../../shared/control/generations.ts';
import { type Kind, kinds } from '../../shared/documents/resources.ts';
import { exampleId } from '../support/entities.ts';
import type { Documents } from './builders.ts';

type Golden = Record<Kind, { state: { id: string }; sortKeys: object; joined: { joined: object } }>;

/** An instant at which no golden document has expired. */
export const now = () => new Date('2026-01-01T13:00:00Z');

/** An organization, and the suffix of the ids of its documents. */
type Owner = { suffix: string; orgId: string };
const defaultOwner: Owner = { suffix: '', orgId: 'org_a' };
export const otherOwner: Owner = { suffix: '_b', orgId: 'org_b' };

const isInstant = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*Z$/.test(value);

function readGolden(version: number): Golden {
  const text = readFileSync(`services/projector/projections/golden/version-${version}.json`, 'utf8');
  return JSON.parse(text, (_, value: unknown) => (isInstant(value) ? new Date(value) : value)) as Golden;
}

/**
 * The golden document of each kind, as the projector stored it with this projection version, and further documents.
 * Every route answers with one of them.
 */
export function oneOfEach(
  further: Documents = {},
  { owner = defaultOwner, version = projectionVersion }: { owner?: Owner; version?: number } = {},
): Documents {
  const { suffix, orgId } = owner;
  const golden = readGolden(version);
  const stored = (kind: Kind) => {
    if (!(kind in golden))
      throw new Error(
        `${kind} has no golden document of projection version ${version}: docs/contributing.md says how to add one.`,
      );
    const { state, sortKeys, joined } = golden[kind];
    const id = `${state.id}${suffix}`;
    return { _id: id, orgId, version: 1, revision: 1, state: { ...state, id }, ...joined, ...sortKeys };
  };
  const documents = { ...further };
  for (const kind of kinds) {
    // Every test store has its own keys.
    if (kind !== 'apiKey') documents[kind] = [stored(kind), ...(further[kind] ?? [])];
  }
  return documents;
}

/** A route's path with the id of the golden document of the collection that its second segment names. */
const fill = (path: string, suffix: string) =>
  path.replace(':id', `${exampleId(path.split('/')[2])}${suffix}`);

/** Every route, with the URL of a golden document, and the URL of a document of the other organization. */
export const routes = createRoutes({ now, brand: 'svc' }).map((route) => ({
  path: route.path,
  route,
  url: fill(route.path, defaultOwner.suffix),
  foreign: fill(route.path, otherOwner.suffix),
}));
export const urls = routes.map(({ url }) => url);

/** The kind of a list's items, which each item names in `object`. */
function kindOfItems({ response }: Route): Kind {
  const { data } = (response as z.ZodObject<{ data: z.ZodArray<z.ZodObject> }>).shape;
  return (data.element.shape.object as z.ZodLiteral<Kind>).value;
}

export const lists = routes
  .filter(({ route }) => 'startingAfter' in route.query.shape)
  .map((list) => ({ ...list, kind: kindOfItems(list.route) }));

type Enumerated = { url: string; name: string; values: string[]; isRepeatable: boolean };
type Property = { enum?: string[]; items?: { enum?: string[] } };

function enumeratedOf({ route, url }: (typeof lists)[number]): Enumerated[] {
  const { properties = {} } = z.toJSONSchema(route.query, { io: 'input', unrepresentable: 'any' });
  const parameters: Enumerated[] = [];
  for (const [name, property] of Object.entries(properties as Record<string, Property>)) {
    const values = property.enum ?? property.items?.enum;
    if (values) parameters.push({ url, name, values, isRepeatable: property.items !== undefined });
  }
  return parameters;
}

/** Each parameter of a list with a closed set of values. */
export const enumerated = lists.flatMap(enumeratedOf);

/** The queries of each list with one value of each filter together, in each of its sorts. */
export const filteredQueries = lists.flatMap(({ url }) => {
  const parameters = enumerated.filter((parameter) => parameter.url === url);
  const filters = parameters.filter(({ name }) => name !== 'sort');
  if (filters.length === 0) return [];
  const filtered = `${url}?${filters.map(({ name, values: [value] }) => `${name}=${value}`).join('&')}`;
  const sorts = parameters.find(({ name }) => name === 'sort')?.values ?? [];
  return [filtered, ...sorts.map((sort) => `${filtered}&sort=${sort}`)];
});
