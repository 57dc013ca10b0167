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
const owner: Owner = { suffix: '', orgId: 'org_a' };
export const otherOwner: Owner = { suffix: '_b', orgId: 'org_b' };

const readGolden = (version: number) =>
  JSON.parse(
    readFileSync(`services/projector/projections/golden/version-${version}.json`, 'utf8'),
    (_, value: unknown) =>
      typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*Z$/.test(value) ? new Date(value) : value,
  ) as Golden;

/**
 * The golden document of each kind, as the projector stored it with this projection version, and further documents.
 * Every route answers with one of them.
 */
export function oneOfEach(further: Documents = {}, { suffix, orgId } = owner, version = projectionVersion) {
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
  // Every test store has its own keys.
  const served = kinds.filter((kind) => kind !== 'apiKey');
  const documents = served.map((kind) => [kind, [stored(kind), ...(further[kind] ?? [])]] as const);
  return { ...further, ...Object.fromEntries(documents) } as Documents;
}

/** A route's path with the id of the golden document of the collection that its second segment names. */
const fill = (path: string, suffix: string) =>
  path.replace(':id', `${exampleId(path.split('/')[2])}${suffix}`);

/** Every route, with the URL of a golden document, and the URL of a document of the other organization. */
export const routes = createRoutes({ now, brand: 'svc' }).map((route) => ({
  path: route.path,
  route,
  url: fill(route.path, owner.suffix),
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

type Property = { enum?: string[]; items?: { enum?: string[] } };
/** Each parameter of a list with a closed set of values. */
export const enumerated = lists.flatMap(({ route, url }) => {
  const { properties = {} } = z.toJSONSchema(route.query, { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties as Record<string, Property>).flatMap(([name, property]) => {
    const values = property.enum ?? property.items?.enum;
    return values ? [{ url, name, values, isRepeatable: property.items !== undefined }] : [];
  });
});

/** The queries of each list with one value of each filter together, in each of its sorts. */
export const filteredQueries = lists.flatMap(({ url }) => {
  const parameters = enumerated.filter((parameter) => parameter.url === url);
  const filters = parameters.filter(({ name }) => name !== 'sort');
  const filter = filters.map(({ name, values: [value] }) => `${name}=${value}`).join('&');
  const sorts = parameters.find(({ name }) => name === 'sort')?.values ?? [];
  const sorted = sorts.map((sort) => `${filter}&sort=${sort}`);
  return filters.length > 0 ? [filter, ...sorted].map((query) => `${url}?${query}`) : [];
});
