import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' });

/** A clone of this checkout, without packages, with the changes that are not committed yet. */
export function freshClone(path: string): void {
  git('clone', '--quiet', '.', path);
  const changed = [
    git('diff', '-z', '--name-only', 'HEAD'),
    git('ls-files', '-z', '--others', '--exclude-standard'),
  ]
    .join('')
    .split('\0');
  for (const file of new Set(changed.filter((changedPath) => changedPath !== ''))) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    if (existsSync(file)) cpSync(file, join(path, file));
    else rmSync(join(path, file));
  }
}

/** The environment of the shell of a fresh user: no package of this checkout in the PATH, no setting of a test. */
export function freshUserEnvironment(): Record<string, string | undefined> {
  const { PATH = '', HOME, XDG_CACHE_HOME, MONGOD, DEV_STORE } = process.env;
  const ofMachine = Object.entries(process.env).filter(([name]) =>
    /^npm_config_(registry|userconfig|cafile|.*proxy)$|_proxy$|^GO/i.test(name),
  );
  const path = PATH.split(':').filter((folder) => !folder.endsWith('node_modules/.bin'));
  return { ...Object.fromEntries(ofMachine), PATH: path.join(':'), HOME, XDG_CACHE_HOME, MONGOD, DEV_STORE };
}
