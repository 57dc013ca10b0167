import { idSchema } from './resources.ts';

test.each([
  ['ticket', 'ti_1', true],
  ['ticket', 'ti_', false],
  ['ticket', 'conv_1', false],
  ['tag', 'anything', true],
  ['tag', '', false],
] as const)('idSchema(%s) accepts "%s": %s', (kind, id, valid) => {
  expect(idSchema(kind).safeParse(id).success).toBe(valid);
});
