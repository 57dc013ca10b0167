import { createHash } from 'node:crypto';
import type { Route } from '../../services/api/http/route.ts';
import { createRoutes } from '../../services/api/resources/routes.ts';
import { kinds, resources } from '../../shared/documents/resources.ts';
import { createMongo } from '../../shared/store/connection.ts';
import { mongoUrl, startApi, tokens } from '../api/test-api.ts';
import { created } from '../support/entities.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';
import { expectedAt } from './sources.ts';
import { channelTypes, type Name, statesOf } from './states.ts';

/** Enough variants for each boolean to differ from every other boolean. */
const variants = Array.from({ length: 12 }, (_, variant) => variant);
/** At this instant, no document has expired. */
const now = new Date('2026-01-02T00:00:00Z');
const routes = createRoutes({ now: () => now, brand: '' });

/**
 * The states in the responses of a route, by the name of the route in the OpenAPI document. The list has only routes
 * whose path names a different kind. `parent` is the state whose id the path contains, if that is a different state.
 */
const servedBy: Record<string, { names: readonly Name[]; parent?: Name }> = {
  listMessages: { names: ['messages.0', 'messages.1'], parent: 'conversation' },
  listChannels: { names: channelTypes },
  retrieveChannel: { names: channelTypes },
  listQas: { names: ['qa'] },
};

function statesServedBy({ operationId, path }: Route) {
  const kindOfPath = kinds.find((kind) => resources[kind].collection === path.split('/')[2]);
  const states = servedBy[operationId] ?? (kindOfPath && { names: [kindOfPath], parent: undefined });
  if (!states) throw new Error(`${path}: name the states that ${operationId} shows in servedBy`);
  return states;
}

describe('each field of a response', () => {
  const { environment, publish, applied } = useProjector({ projectors: 1 });
  const api = useOpened(async () => {
    const client = createMongo(mongoUrl(), 'api-tests');
    const testApi = await startApi({ client, name: environment.name }, { now: () => now });
    const close = async () => {
      await testApi.close();
      await client.close();
    };
    return { ...testApi, close };
  });
  test('differs from other fields by the values of its booleans', () => {
    const allLeaves = variants.flatMap((variant) => leaves(statesOf(variant).states));
    const booleans = allLeaves.filter(([, value]) => typeof value === 'boolean');
    const compared = booleans.filter(([path]) => !path.includes('.attachments.'));
    const byPath = Map.groupBy(compared, ([path]) => path);
    const pathsByValues = Map.groupBy(byPath.keys(), (path) => {
      const ofPath = byPath.get(path) ?? [];
      return ofPath.map(([, value]) => value).join();
    });
    const alike = [...pathsByValues.values()].filter((paths) => paths.length > 1);
    expect(alike).toEqual([]);
    expect(pathsByValues.size).toBeGreaterThan(5);
  });

  beforeAll(async () => {
    const tokenSha256 = createHash('sha256').update(tokens.a).digest('hex');
    const states = variants.flatMap((variant) => Object.values(statesOf(variant).states));
    await publish(
      created('apiKey', 'key_1', { tokenSha256, archivedAt: null }),
      ...states.map(({ kind, state }) => created(kind, state.id, state)),
    );
    await applied();
  });

  const read = async (path: string) => {
    const answer = await api.get(path);
    expect(answer.status).toBe(200);
    return answer.json() as Record<string, unknown>;
  };
  const readList = async (path: string) => {
    const { data } = await read(`${path}?limit=100`);
    return data as (Record<string, unknown> & { id: string })[];
  };

  /** Compares a response with the states of its variant. The state of a channel has a test of its own. */
  const expectFields = (variant: number, name: Name, response: Record<string, unknown> | undefined) => {
    expect(response).toMatchObject({ id: idOf(name, variant) });
    const fields = leaves(response).filter(([path]) => !path.startsWith('status.'));
    const states = statesOf(variant);
    const expected = fields.map(([path]) => [path, expectedAt(states, name, path)]);
    expect({ variant, name, fields }).toEqual({ variant, name, fields: expected });
  };
  const idOf = (name: Name, variant: number) => statesOf(variant).states[name].state.id;

  const isList = ({ query }: Route) => 'startingAfter' in query.shape;

  test.each(routes.filter(isList))(
    'has the value of the same field of the state in the list $path',
    async (route) => {
      const { names, parent } = statesServedBy(route);
      for (const variant of variants) {
        const items = await readList(parent ? route.path.replace(':id', idOf(parent, variant)) : route.path);
        // A list of a parent has the states of one variant; another list has those of all variants.
        expect(items).toHaveLength(parent ? names.length : names.length * variants.length);
        for (const name of names) {
          const id = idOf(name, variant);
          const item = items.find((candidate) => candidate.id === id);
          expectFields(variant, name, item);
        }
      }
    },
  );

  test.each(routes.filter((route) => !isList(route)))(
    'has the value of the same field of the state at $path',
    async (route) => {
      for (const variant of variants) {
        for (const name of statesServedBy(route).names) {
          const path = route.path.replace(':id', idOf(name, variant));
          expectFields(variant, name, await read(path));
        }
      }
    },
  );
});

/** Each value of a response by its path, such as `tags.0.name`. */
function leaves(value: unknown, path = ''): [string, unknown][] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, path ? `${path}.${key}` : key));
}
