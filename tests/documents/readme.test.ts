import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { withTables } from '../../infra/docs-tables/tables.ts';

const readme = () => readFile('README.md', 'utf8');

describe('the README', () => {
  it('has the settings, errors and reasons of dead letters that the code has (`npm run readme` writes them)', async () => {
    const text = await readme();
    expect(text).toBe(withTables(text));
  });

  it('names only scripts, files and folders that exist', async () => {
    const text = await readme();
    const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { scripts: object };
    const commands = [...text.matchAll(/npm run (?:-s |--silent )?([a-z:-]+)/g)].map(([, name]) =>
      String(name),
    );
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)]+)\)/g)].map(([, path]) => String(path));
    const folders = [...text.matchAll(/^ *((?:[a-z.-]+\/)+) /gm)].map(([, path]) => String(path));
    expect(commands.filter((name) => !(name in scripts))).toEqual([]);
    expect([...links, ...folders].filter((path) => !existsSync(path))).toEqual([]);
    expect(commands.length).toBeGreaterThan(3);
    expect(folders.length).toBeGreaterThan(10);
  });
});
