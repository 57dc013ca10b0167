import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import './watch-commands.ts';

/** The project's code names the organizations in every command, or says why not: a sharded cluster needs it. */
const path = join(tmpdir(), `support-read-models-commands-${randomUUID()}`);
process.env.COMMANDS_WITHOUT_ORGANIZATION = path;
const watch = pathToFileURL(join(__dirname, 'watch-commands.ts')).href;
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${watch}`.trim();

afterAll(() => {
  const found = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  rmSync(path, { force: true });
  expect([...new Set(found)].filter((line) => line !== '')).toEqual([]);
});
