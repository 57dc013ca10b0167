import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { debianMirror } from './debian-mirror.ts';
import { mustRun } from './run.ts';

/** Installs a minimal Debian sid and `packages` into `dir`, from the mirror that this machine uses. */
export async function debianRoot(dir: string, packages: string[]): Promise<void> {
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  const codename = /^VERSION_CODENAME="?([a-z]+)/m.exec(release)?.[1] ?? 'stable';
  const mirror = debianMirror(aptSources('/etc/apt'), codename);
  if (mirror === undefined)
    throw new Error(`no Debian ${codename} mirror found in /etc/apt/sources.list or sources.list.d`);
  await mustRun('mmdebstrap', [
    '--variant=apt',
    `--include=${packages.join(',')}`,
    '--aptopt=APT::Install-Recommends "false"',
    // A frozen mirror's index is past its expiry date.
    '--aptopt=Acquire::Check-Valid-Until "false"',
    'sid',
    dir,
    `deb [signed-by=${mirror.keyring}] ${mirror.uri} sid main`,
  ]);
}

function aptSources(etc: string): { name: string; text: string }[] {
  const parts = join(etc, 'sources.list.d');
  const files = existsSync(parts) ? readdirSync(parts).map((name) => join(parts, name)) : [];
  return [join(etc, 'sources.list'), ...files]
    .filter((name) => /\.(list|sources)$/.test(name) && existsSync(name))
    .map((name) => ({ name, text: readFileSync(name, 'utf8') }));
}
