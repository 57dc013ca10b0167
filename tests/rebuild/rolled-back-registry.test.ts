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

test('an operator who has read a change that a fail-over rolls back does not replace the change made instead', async () => {
  const { control } = databases;
  const before = await ensureRegistry(control);
  const rolledBack = await changeRegistry(control, storeLongestLag(1, 60));
  // given a fail-over, which takes the registry back
  await generationsOf(control).replaceOne({ _id: 'active' }, before);
  const instead = await changeRegistry(control, storeLongestLag(1, 120));
  expect(await replaceRegistry(control, rolledBack, rolledBack)).toBeNull();
  expect(await readRegistry(control)).toEqual(instead);
});
