import { existsSync } from 'node:fs';

const setpriv = '/usr/bin/setpriv';

/**
 * Words before a command that have the kernel kill it when the process that launched it dies, however that
 * dies. The pid stays the command's own. Where the system has no such thing, as outside Linux, they are none.
 */
export const tiedToParent = (): string[] =>
  existsSync(setpriv) ? [setpriv, '--pdeathsig', 'KILL', '--'] : [];
