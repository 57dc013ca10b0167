import {
  ensureRegistry,
  generationsOf,
  readRegistry,
  replaceRegistry,
} from '../../shared/control/generations.ts';
import { changeRegistry, storeLongestLag } from '../../shared/control/registry.ts';
import { openDatabases } from '../support/databases.ts';
import { useOpened } from '../support/use-opened.ts';

const databases = useOpened(() => openDatabases());

test('a registry that a fail-over has rolled back is not replaced by an operator who read it before', async () => {
  const { control } = databases;
  const original = await ensureRegistry(control);
  const rolledBack = await changeRegistry(control, storeLongestLag(1, 60));
  // A fail-over takes the registry back.
  await generationsOf(control).replaceOne({ _id: 'active' }, original);
  const later = await changeRegistry(control, storeLongestLag(1, 120));
  expect(await replaceRegistry(control, rolledBack, rolledBack)).toBeNull();
  expect(await readRegistry(control)).toEqual(later);
});
