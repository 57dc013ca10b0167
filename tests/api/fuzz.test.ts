import fc from 'fast-check';
import { encodeCursor } from '../../services/api/paging/cursor.ts';
import * as build from './builders.ts';
import { errorOf, listOf, useApi } from './test-api.ts';

const api = useApi({
  conversation: [build.conversation({ id: 'conv_1' })],
  ticket: ['ti_1', 'ti_2'].map((id) => build.ticket({ id })),
});

const lists = ['/v1/tickets', '/v1/conversations/conv_1/messages', '/v1/channels', '/v1/knowledge/qa'];

/** Ten thousand requests in total, fifty at a time. */
const fuzz = { numRuns: 100 };
const casesPerRun = { minLength: 50, maxLength: 50 };
const unicode = fc.string({ unit: 'binary', maxLength: 60 }).filter((text) => text.isWellFormed());

test('invalid and damaged cursors are 422, whatever they contain', async () => {
  const scope = { orgId: 'org_a', list: 'tickets', sort: '-updatedAt', filters: null };
  const genuine = encodeCursor(`${build.at}ti_1`, scope);
  const sortKey = fc.tuple(fc.constant(1), fc.string({ unit: 'binary' }), fc.string());
  const encoded = fc
    .oneof(
      sortKey,
      fc.json().map((text) => JSON.parse(text) as unknown),
    )
    .map((payload) => Buffer.from(JSON.stringify(payload)).toString('base64url'));
  const first = listOf(await api.get('/v1/tickets?limit=1'));
  const damaged = fc
    .tuple(fc.constantFrom(genuine, first.nextCursor ?? genuine), fc.nat(), fc.string({ maxLength: 3 }))
    .map(([cursor, at, put]) => {
      const index = at % cursor.length;
      return cursor.slice(0, index) + put + cursor.slice(index + 1);
    })
    .filter((cursor) => cursor !== genuine && cursor !== first.nextCursor);
  const one = fc.tuple(fc.constantFrom(...lists), fc.oneof(unicode, encoded, damaged));
  await fc.assert(
    fc.asyncProperty(fc.array(one, casesPerRun), async (cases) => {
      const answers = await Promise.all(
        cases.map(([list, cursor]) => api.get(`${list}?startingAfter=${encodeURIComponent(cursor)}`)),
      );
      for (const answer of answers)
        expect([answer.status, errorOf(answer).code]).toEqual([422, 'invalid_cursor']);
    }),
    fuzz,
  );
}, 600_000);

test('random ids are 404 or 422, whatever they contain', async () => {
  const id = fc.tuple(fc.constantFrom('', 'ti_', 'conv_'), unicode).map(([prefix, rest]) => prefix + rest);
  const path = fc.constantFrom(
    '/v1/tickets/:',
    '/v1/conversations/:',
    '/v1/conversations/:/messages',
    '/v1/channels/:',
  );
  const one = fc
    .tuple(path, id)
    .filter(([pattern, value]) => pattern.startsWith('/v1/channels') || !['ti_1', 'conv_1'].includes(value))
    // An empty id is the path of the list, and clients resolve `.` and `..` before they send a path.
    .filter(([, value]) => value !== '')
    .map(([pattern, value]) => pattern.replace(':', () => encodeURIComponent(value).replaceAll('.', '%2E')));
  await fc.assert(
    fc.asyncProperty(fc.array(one, casesPerRun), async (paths) => {
      const answers = await Promise.all(paths.map((asked) => api.get(asked)));
      for (const { status } of answers) expect([404, 422]).toContain(status);
    }),
    fuzz,
  );
}, 600_000);
