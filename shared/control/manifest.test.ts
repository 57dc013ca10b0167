import { compareWithManifest, describeLost } from './manifest.ts';

const manifest = { tickets: 'a', qas: 'b' };
const find = (found: Record<string, string>) =>
  describeLost(compareWithManifest('support_g1', manifest, new Map(Object.entries(found))));

test('the check of the manifest names only the listed collections that are gone or were created again', () => {
  expect(find({ tickets: 'a', qas: 'b', more: 'c' })).toBe('');
  expect(find({ tickets: 'a' })).toBe('support_g1.qas is gone');
  expect(find({ tickets: 'c', qas: 'b' })).toBe('support_g1.tickets is another collection');
  expect(find({})).toBe('support_g1.tickets is gone, support_g1.qas is gone');
});

test('the check of the manifest knows of no loss without a list, and without ids of the store only of collections that are gone', () => {
  expect(compareWithManifest('support_g1', undefined, new Map())).toEqual([]);
  expect(find({ tickets: '', qas: '' })).toBe('');
});
