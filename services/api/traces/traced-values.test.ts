import { z } from 'zod';
import { oneOf, severalOf } from '../http/parameters.ts';
import { ticketListQuery } from '../resources/tickets/schema.ts';
import { tracedId, tracedParameters } from './traced-values.ts';

const traced = (search: string) => tracedParameters(ticketListQuery.shape, search);

describe('the parameters of a trace', () => {
  test('include valid numbers, dates and words of the API but no cursor', () => {
    const search =
      'limit=5&sort=-createdAt&status=open&status=closed&createdAt[gte]=2026-01-01&startingAfter=WzFd';
    expect(traced(search)).toEqual([
      { name: 'limit', values: ['5'] },
      { name: 'sort', values: ['-createdAt'] },
      { name: 'status', values: ['open', 'closed'] },
      { name: 'createdAt[gte]', values: ['2026-01-01T00:00:00.000Z'] },
      { name: 'startingAfter', values: null },
    ]);
  });

  test.each(['limit', 'sort', 'status', 'createdAt[gte]', 'updatedAt[lte]'])(
    'include no value of %s if one of its values is not valid',
    (name) => {
      expect(traced(`${name}=ada@example.com`)).toEqual([{ name, values: null }]);
      expect(traced(`limit=5&limit=Ada`)).toEqual([{ name: 'limit', values: null }]);
    },
  );

  test.each([
    ['limit', `${'0'.repeat(4_000)}5`, '5'],
    ['createdAt[gte]', `2026-01-01T00:00:00.${'7'.repeat(4_000)}%2B01:00`, '2025-12-31T23:00:00.777Z'],
    ['updatedAt[lte]', '2026-01-01', '2026-01-01T23:59:59.999Z'],
  ])(
    'include a parsed value of %s, because a client chooses the length of its text',
    (name, sent, stored) => {
      expect(traced(`${name}=${sent}`)).toEqual([{ name, values: [stored] }]);
    },
  );

  test('include no text and no number without a limit', () => {
    const shape = {
      word: oneOf(['a', 'b']).optional(),
      words: severalOf(['a', 'b']).default(['a']),
      upTo: z.coerce.number().max(9),
      any: z.coerce.number().int(),
      text: z.string().max(9),
      texts: z.array(z.string()).optional(),
    };
    const search = 'word=a&words=b&upTo=7&any=4917012345&text=Ada&texts=Ada';
    expect(tracedParameters(shape, search)).toEqual([
      { name: 'word', values: ['a'] },
      { name: 'words', values: ['b'] },
      { name: 'upTo', values: ['7'] },
      ...['any', 'text', 'texts'].map((name) => ({ name, values: null })),
    ]);
  });

  test('include each value of a parameter once', () => {
    expect(traced('limit=5&limit=05&limit=005')).toEqual([{ name: 'limit', values: ['5'] }]);
    const dates = Array.from(
      { length: 28 },
      (_, day) => `createdAt[gte]=2026-01-${String(day + 1).padStart(2, '0')}`,
    );
    expect(traced(dates.join('&'))).toEqual([{ name: 'createdAt[gte]', values: null }]);
  });

  test('include the name of an unknown parameter if it looks like one', () => {
    expect(traced('page=2&per_page=3&updatedAt[gt]=x')).toEqual([
      { name: 'page', values: null },
      { name: 'per_page', values: null },
      { name: 'updatedAt[gt]', values: null },
    ]);
  });

  test.each([
    'ada@example.com',
    'ada.lovelace',
    '+491701234567',
    '4917012345',
    'svc_live_abcdefgh',
    'Ada Lovelace',
    'x'.repeat(33),
    '$where',
    '__proto__',
    'naïve',
    '',
  ])('keep nothing of the name %p', (name) => {
    expect(traced(`${encodeURIComponent(name)}=1`)).toEqual([{ name: '(other)', values: null }]);
  });

  test('are at most twenty', () => {
    const names = Array.from({ length: 60 }, (_, index) =>
      String.fromCharCode(97 + (index % 26)).repeat(1 + (index % 5)),
    );
    expect(traced(names.map((name) => `${name}=1`).join('&'))).toHaveLength(20);
  });
});

describe('the id of a trace', () => {
  test.each(['ti_1', 'conv_01HX-z', 'chan_form'])('is stored as %s', (id) => {
    expect(tracedId(id)).toBe(id);
  });

  test.each([
    undefined,
    '',
    'ti_',
    'ada@example.com',
    'ti_ada@example.com',
    'svc_test_abc',
    'ti_ ',
    'Ada',
    '4917012345',
  ])('is not kept if it is %p', (id) => {
    expect(tracedId(id)).toBeNull();
  });
});
