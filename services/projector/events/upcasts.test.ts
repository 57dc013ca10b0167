import { structured, tag } from '../../../tests/support/example-records.ts';
import { parse } from './parse.ts';
import type { Upcasts } from './upcasts.ts';

/** The upcasts if version 1 of a tag had called its name `label`, and version 2 had written the name in capitals. */
const example: Upcasts = {
  tag: [
    ({ label, ...data }) => ({ ...data, name: label }),
    ({ name, ...data }) => ({ ...data, name: typeof name === 'string' ? name.toLowerCase() : name }),
  ],
};

const event = (schemaVersion: number, data: unknown) =>
  structured({ type: `support.tag.updated.v${schemaVersion}`, data });

describe('events of several schema versions', () => {
  test.each([
    [1, { id: 'tag_1', label: 'BILLING' }],
    [2, { id: 'tag_1', name: 'BILLING' }],
    [3, { id: 'tag_1', name: 'billing' }],
  ])('an event of version %i has the state of the newest version', (schemaVersion, data) => {
    expect(parse('tag', event(schemaVersion, data), example)).toMatchObject({
      change: { op: 'upsert', state: { id: 'tag_1', name: 'billing' } },
    });
  });

  test('rejects an unknown version, and names the known ones', () => {
    expect(parse('tag', event(4, tag), example)).toEqual({
      rejected: {
        reason: 'unknown_type',
        detail: 'type: must be support.tag.(created|updated|deleted).v1 to v3',
      },
    });
    expect(parse('tag', event(2, tag))).toMatchObject({
      rejected: { detail: 'type: must be support.tag.(created|updated|deleted).v1' },
    });
  });

  test.each([['a text'], [null], [[1]], [{ id: 'tag_1' }]])('rejects old data that is %j', (data) => {
    expect(parse('tag', event(1, data), example)).toMatchObject({ rejected: { reason: 'bad_data' } });
  });

  test('rejects old data for which an upcast throws', () => {
    const failing: Upcasts = {
      tag: [
        () => {
          throw new TypeError('no label');
        },
      ],
    };
    expect(parse('tag', event(1, { id: 'tag_1' }), failing)).toEqual({
      rejected: { reason: 'bad_data', detail: 'data: cannot be turned from schema version 1 into 2' },
    });
  });
});
