import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRunFolder, removeRunFolder } from './run-folder.ts';

async function filled() {
  const folder = await createRunFolder();
  const data = join(folder.servers, 'kafka', 'data', 'support.tags-0');
  await mkdir(data, { recursive: true });
  const files = [
    folder.log('api'),
    join(folder.path, 'server-key.pem'),
    join(folder.servers, 'kafka', 'kafka.log'),
  ];
  for (const file of [...files, join(data, '00000000000000000000.log')]) await writeFile(file, 'content');
  return folder;
}

test('a successful run leaves no files', async () => {
  const folder = await filled();
  await removeRunFolder(folder, { keepLogs: false });
  expect(existsSync(folder.path)).toBe(false);
});

test('a failed run leaves its logs, but no data and no keys', async () => {
  const folder = await filled();
  await removeRunFolder(folder, { keepLogs: true });
  expect((await readdir(folder.path, { recursive: true })).toSorted()).toEqual(['api.log', 'kafka.log']);
  await rm(folder.path, { recursive: true });
});
