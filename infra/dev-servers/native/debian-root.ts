import { existsSync, readFileSync } from 'node:fs';
import { aptUpdate } from './prerequisites.ts';
import { mustRun } from './run.ts';

/** Installs a minimal Debian sid and `packages` into `dir`, from the mirror that this machine uses. */
export async function installDebianRoot(dir: string, packages: string[]): Promise<void> {
  const codename = debianCodename();
  // apt knows the origin of a source only after it has fetched the index.
  await aptUpdate();
  const mirror = findDebianMirror(
    await mustRun('apt-get', ['indextargets', '--format', targetFormat]),
    codename,
  );
  if (mirror === undefined) throw new Error(`apt has no source of Debian ${codename}: see /etc/apt`);
  const source = existsSync(mirror.source) ? readFileSync(mirror.source, 'utf8') : '';
  // Other entries of the file may belong to another vendor. An entry is a line of a list, or a stanza of `*.sources`.
  const entries = source.split(mirror.source.endsWith('.sources') ? /\n\s*\n/ : '\n');
  const entry = entries.find((text) => !text.startsWith('#') && text.includes(mirror.uri.replace(/\/$/, '')));
  const keyring = /signed-by[:=]\s*(\/[^\s\]]+)/i.exec(entry ?? '')?.[1] ?? debianKeyring;
  await mustRun('mmdebstrap', [
    '--variant=apt',
    `--include=${packages.join(',')}`,
    '--aptopt=APT::Install-Recommends "false"',
    // The index of a frozen mirror has expired.
    '--aptopt=Acquire::Check-Valid-Until "false"',
    'sid',
    dir,
    `deb [signed-by=${keyring}] ${mirror.uri} sid main`,
  ]);
}

/** The name of this machine's release. */
export function debianCodename(): string {
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  return /^VERSION_CODENAME="?([a-z]+)/m.exec(release)?.[1] ?? 'stable';
}

const debianKeyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const targetFormat = '$(CREATED_BY) $(ORIGIN) $(RELEASE) $(COMPONENT) $(REPO_URI) $(SOURCESENTRY)';

/**
 * Returns Debian's mirror among the index targets of apt, and the file that names it. So a local mirror stays in use.
 * Other vendors may use Debian's names of suites and components, but not its origin.
 */
export function findDebianMirror(
  targets: string,
  codename: string,
): { uri: string; source: string } | undefined {
  const prefix = `Packages Debian ${codename} main `;
  const target = targets.split('\n').find((line) => line.startsWith(prefix));
  const [uri, source = ''] = target?.slice(prefix.length).split(' ') ?? [];
  return uri ? { uri, source: source.replace(/:\d+$/, '') } : undefined;
}
