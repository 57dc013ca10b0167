import { glob, readFile } from 'node:fs/promises';

test('the page of the control database lists exactly the collections that the code opens', async () => {
  const opened = new Set<string>();
  for await (const path of glob('shared/control/*.ts')) {
    const source = await readFile(path, 'utf8');
    for (const [, name] of source.matchAll(/\bcontrol\.collection(?:<.+?>)?\('(\w+)'\)/g))
      opened.add(String(name));
  }
  const page = await readFile('docs/internals/control-database.md', 'utf8');
  const rows = [...page.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => String(name));
  expect(rows.toSorted()).toEqual([...opened].toSorted());
});
