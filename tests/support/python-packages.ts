import { join } from 'node:path';
import { cacheDir, installOnce } from '../../infra/dev-servers/native/cache.ts';
import { requireTools, type Tool } from '../../infra/dev-servers/native/prerequisites.ts';
import { reportStep } from '../../infra/dev-servers/native/progress.ts';
import { mustRun, run } from '../../infra/dev-servers/native/run.ts';

/** pip alone, without virtual environments: Debian needs a further package for them. */
const python: Tool = {
  what: 'Python ≥ 3.10 with pip',
  package: 'python3-pip',
  present: async () =>
    (await run('python3', ['-c', 'import sys, pip; sys.exit(sys.version_info < (3, 10))'])).ok,
};

/** Where the packages are, and the variables with which Python finds them. */
export type PythonPackages = { folder: string; env: Record<string, string> };

/**
 * Installs packages from PyPI into a folder of the cache, separate from the machine's Python packages. The name has
 * their versions. An error names the missing tool and how to install it.
 */
export async function installPythonPackages(
  report: (line: string) => void,
  name: string,
  packages: string[],
): Promise<PythonPackages> {
  await requireTools(report, name, [python]);
  // Some packages have parts that are compiled for one version of Python.
  const tag = await mustRun('python3', ['-c', 'import sys; print(sys.implementation.cache_tag)']);
  const folder = join(cacheDir(), `${name}-${tag.trim()}`);
  const options = ['--disable-pip-version-check', '--no-input', '--quiet'];
  await installOnce(folder, async (partial) => {
    const install = ['-m', 'pip', 'install', ...options, '--target', partial, ...packages];
    await reportStep(report, `${name}: installing from PyPI`, () => mustRun('python3', install));
  });
  return { folder, env: { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' } };
}
