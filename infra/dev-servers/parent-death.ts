import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';

/** A command that runs after this process has died, for any reason, unless it is revoked first. */
type ParentDeathHook = { revoke: () => Promise<void> };

/**
 * Registers a command that runs when this process dies. A shell in a process group of its own reads a pipe that only
 * this process holds open. A line on the pipe revokes the command. If the pipe closes without a line, this process has
 * died: the kernel closes the pipe even after SIGKILL.
 */
export function onParentDeath(command: readonly string[]): ParentDeathHook {
  const shell = spawn('sh', ['-c', 'read -r _ || exec "$@"', 'sh', ...command], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = Promise.race([once(shell, 'close'), once(shell, 'error')]);
  // A killed shell can no longer run the command, so there is nothing to revoke.
  shell.stdin.on('error', () => undefined);
  shell.unref();
  return {
    revoke: async () => {
      // Keeps this process alive until the shell has read the line.
      shell.ref();
      shell.stdin.end('revoked\n');
      await ended;
    },
  };
}

const setpriv = '/usr/bin/setpriv';

/**
 * Returns a command prefix that makes the kernel kill the command when its parent process dies, for any reason.
 * The command keeps its own pid. Empty on systems without `setpriv`, such as macOS.
 */
export const dieWithParent = (): string[] =>
  existsSync(setpriv) ? [setpriv, '--pdeathsig', 'KILL', '--'] : [];
