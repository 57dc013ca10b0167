import { join } from 'node:path';
import { cacheDir, installedOnce } from '../../infra/dev-servers/native/cache.ts';
import { requireTools, type Tool } from '../../infra/dev-servers/native/prerequisites.ts';
import { step } from '../../infra/dev-servers/native/progress.ts';
import { mustRun, run } from '../../infra/dev-servers/native/run.ts';

/** A program, with the arguments that come before all others. */
export type Program = { command: string; args: string[]; env: Record<string, string> };

const version = '4.32.5';

/** Only pip is required: for virtual environments Debian has yet another package. */
const python: Tool = {
  what: 'Python ≥ 3.10 with pip',
  package: 'python3-pip',
  present: async () =>
    (await run('python3', ['-c', 'import sys, pip; sys.exit(sys.version_info < (3, 10))'])).ok,
};

/**
 * Installs Schemathesis from PyPI into the cache folder, separate from the machine's Python packages. An error names
 * the missing tool and how to install it.
 */
export async function installSchemathesis(report: (line: string) => void): Promise<Program> {
  await requireTools(report, 'Schemathesis', [python]);
  // Parts of it are compiled for one version of Python.
  const tag = await mustRun('python3', ['-c', 'import sys; print(sys.implementation.cache_tag)']);
  const folder = join(cacheDir(), `schemathesis-${version}-${tag.trim()}`);
  await installedOnce(folder, async (partial) => {
    await step(report, `Schemathesis ${version}: installing from PyPI`, () => pipInstall(partial));
  });
  const env = { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' };
  return { command: 'python3', args: [join(folder, 'bin', 'schemathesis')], env };
}

async function pipInstall(folder: string): Promise<void> {
  const options = ['--disable-pip-version-check', '--no-input', '--quiet', '--target', folder];
  try {
    await mustRun('python3', ['-m', 'pip', 'install', ...options, `schemathesis==${version}`]);
  } catch (error) {
    throw new Error(
      `Schemathesis ${version} could not be installed: it comes from PyPI, or from the mirror that PIP_INDEX_URL names.`,
      { cause: error },
    );
  }
}
