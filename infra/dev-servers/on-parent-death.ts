import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A command that runs when this process has died, however it dies, unless it is revoked before. */
export type ParentDeathHook = { revoke: () => Promise<void> };

/**
 * A shell of its own process group waits at the end of a pipe that only this process holds open. A line in
 * it is the revocation; its end without one is this process's death, which the kernel tells of any.
 */
export function onParentDeath(command: readonly string[]): ParentDeathHook {
  const waiting = spawn('sh', ['-c', 'read -r _ || exec "$@"', 'sh', ...command], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = Promise.race([once(waiting, 'close'), once(waiting, 'error')]);
  // Somebody who killed it has taken the will with it; there is nothing left to revoke then.
  waiting.stdin.on('error', () => undefined);
  waiting.unref();
  return {
    revoke: async () => {
      // From now on this process stays until the shell has read it.
      waiting.ref();
      waiting.stdin.end('revoked\n');
      await ended;
    },
  };
}
