import { hostname, userInfo } from 'node:os';

/**
 * Returns the name of the operator for the history of generations and for blocks of keys: `name`, or the system user
 * and the host. A container may run under a user id that has no name in the system.
 */
export function operatorName(name: string | undefined, readUser = () => userInfo().username): string {
  if (name) return name;
  try {
    return `${readUser()}@${hostname()}`;
  } catch {
    return `uid ${process.getuid?.()}@${hostname()}`;
  }
}
