import type { Db } from 'mongodb';
import { type GenerationRegistry, replaceRegistry } from './generations.ts';

const control = {} as Db;
const registry = { _id: 'active', generation: 1, lastNumber: 1, generations: [], history: [] };

test.each([undefined, null, 'x', Number.NaN])(
  'a registry with the revision %p is not replaced',
  async (revision) => {
    const read = { ...registry, revision } as unknown as GenerationRegistry;
    await expect(replaceRegistry(control, read, read)).rejects.toThrow('set it to a whole number');
  },
);
