import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { listen } from '../../../shared/runtime/listen.ts';
import { findProgram } from '../../../tests/support/mongo-servers.ts';
import { testUnless } from '../../../tests/support/unless-missing.ts';
import { useFolder } from '../../../tests/support/use-opened.ts';
import { mustRun, run } from './run.ts';

const folder = useFolder({ each: true });

/** Starts a server that offers the archive and its checksum for download; without an archive it refuses downloads. */
async function serveDownloads(archive?: Buffer) {
  const asked: string[] = [];
  const bodyAt = (url: string) => {
    if (archive === undefined || !url.endsWith('.md5')) return archive;
    return Buffer.from(createHash('md5').update(archive).digest('hex'));
  };
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    const body = bodyAt(url);
    if (body === undefined) response.writeHead(403).end();
    else response.writeHead(200, { 'content-length': body.length }).end(body);
  });
  const { port } = await listen(server, '127.0.0.1', 0);
  const mirror = `http://127.0.0.1:${port}`;
  return { asked, mirror, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Looks for a `mongod` on a machine that has none yet. */
async function findMongod(mirror: string) {
  const script = `
    const { findMongod } = await import(${JSON.stringify(resolve('infra/dev-servers/native/mongod.ts'))});
    console.log(JSON.stringify(await findMongod(() => undefined)));
  `;
  const environment = { HOME: folder.path, XDG_CACHE_HOME: folder.path, PATH: '/nowhere', MONGOD: '' };
  const output = await mustRun(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...environment, MONGOMS_DOWNLOAD_MIRROR: mirror, MONGOMS_USE_HTTP: 'true' },
  });
  return JSON.parse(output) as { program?: string; obstacle?: string };
}

describe('a machine without a mongod', () => {
  test('that cannot download a mongod tries again only a day later', async () => {
    await using downloads = await serveDownloads();
    expect((await findMongod(downloads.mirror)).obstacle).toMatch(/^cannot be downloaded \(.*403/);
    expect(downloads.asked).toHaveLength(1);
    expect((await findMongod(downloads.mirror)).obstacle).toMatch(
      /403.*; the next attempt comes after a day, or once you delete /,
    );
    expect(downloads.asked).toHaveLength(1);
  });

  /** An archive as MongoDB publishes them, with the file that `fill` writes as its program. */
  const archiveOf = async (fill: (program: string) => void) => {
    const dir = folder.path;
    mkdirSync(join(dir, 'mongodb', 'bin'), { recursive: true });
    fill(join(dir, 'mongodb', 'bin', 'mongod'));
    await mustRun('tar', ['-C', dir, '-czf', join(dir, 'mongodb.tgz'), 'mongodb/bin/mongod']);
    return readFileSync(join(dir, 'mongodb.tgz'));
  };

  test('that lacks a library of the downloaded mongod names the library', async () => {
    const missing = 'libcurl.so.4: cannot open shared object file';
    // A smaller file counts as damaged.
    const filler = '#'.repeat(2 ** 20);
    const script = `#!/bin/sh\necho '${missing}' >&2\nexit 127\n${filler}`;
    const archive = await archiveOf((program) => writeFileSync(program, script, { mode: 0o755 }));
    await using downloads = await serveDownloads(archive);
    expect(await findMongod(downloads.mirror)).toEqual({ obstacle: `does not run here (${missing})` });
    expect(await findMongod(downloads.mirror)).toEqual({ obstacle: `does not run here (${missing})` });
  });

  const mongodPath = findProgram('mongod')?.path;
  testUnless(mongodPath ? null : 'no mongod to serve', 'downloads one, once', async () => {
    const archive = await archiveOf((program) => copyFileSync(mongodPath ?? '', program));
    await using downloads = await serveDownloads(archive);
    const { program = '' } = await findMongod(downloads.mirror);
    expect((await run(program, ['--version'])).output).toMatch(/^db version v\d/);
    expect(downloads.asked.map((path) => /[^.]*$/.exec(path)?.[0])).toEqual(['tgz', 'md5']);
    expect(await findMongod(downloads.mirror)).toEqual({ program });
    expect(downloads.asked).toHaveLength(2);
  });
});
