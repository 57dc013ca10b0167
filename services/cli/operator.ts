import { hostname, userInfo } from 'node:os';

/**
 * Who acts, for the history of generations: `given`, or the system user and the host. A container may run as a user id that
 * the system has no name for.
 */
export function operatorName(given: string | undefined, readUser = () => userInfo().username): string {
  if (given) return given;
  try {
    return `${readUser()}@${hostname()}`;
  } catch {
    return `uid ${process.getuid?.()}@${hostname()}`;
  }
}
