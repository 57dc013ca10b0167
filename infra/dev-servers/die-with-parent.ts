import { existsSync } from 'node:fs';

const setpriv = '/usr/bin/setpriv';

/**
 * Returns a command prefix that makes the kernel kill the command when its parent process dies, for any reason.
 * The command keeps its own pid. Empty on systems without `setpriv`, such as macOS.
 */
export const dieWithParent = (): string[] =>
  existsSync(setpriv) ? [setpriv, '--pdeathsig', 'KILL', '--'] : [];
