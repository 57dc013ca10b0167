import type { Db } from 'mongodb';
import { readRegistry, replaceRegistry, type GenerationRegistry } from '../../../shared/store/generations.ts';
import { RebuildRefused } from './refused.ts';
import type { Change } from './transitions.ts';

/** The registry; throws before a projector has first started. */
export async function requireRegistry(control: Db): Promise<GenerationRegistry> {
  const registry = await readRegistry(control);
  if (registry) return registry;
  throw new RebuildRefused(
    'there is no read model yet, because no projector has started on this database: check DATABASE_NAME',
  );
}

/**
 * Applies a change to the registry as one compare-and-set, and returns the result. If somebody else has changed it
 * meanwhile, the change is decided again on what that has left.
 */
export async function changeRegistry(control: Db, change: Change): Promise<GenerationRegistry> {
  for (;;) {
    const read = await requireRegistry(control);
    const next = change(read);
    if (next === read) return read;
    if (await replaceRegistry(control, read, next)) return { ...next, revision: read.revision + 1 };
  }
}
