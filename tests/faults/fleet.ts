import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../support/random.ts';
import type { TestEnvironment } from '../support/test-environment.ts';
import { startService, type Service } from '../support/service.ts';

/** A member that does not answer for this long is taken for gone: short, so that a test need not wait long. */
export const sessionTimeoutMs = 2_000;

/** Projectors of one group, as processes. */
export type Fleet = {
  add: () => Service;
  /** SIGKILLs one of them. */
  kill: (victim: Service) => Promise<void>;
  pick: (random: Random) => Service;
  /** Asks one to leave in order; it must. */
  leave: (member: Service) => Promise<void>;
  /** The deaths that nobody asked for. */
  fatal: () => Error[];
  stop: () => Promise<void>;
};

export function createFleet(testEnvironment: TestEnvironment, settings: Record<string, string> = {}): Fleet {
  const members: Service[] = [];
  const errors: Error[] = [];
  const remove = (member: Service) => members.splice(members.indexOf(member), 1);
  const leave = async (member: Service) => {
    remove(member);
    const code = await member.stop();
    if (code !== 0) errors.push(new Error(`a projector ended with ${code}: ${tail(member)}`));
  };
  return {
    add: () => {
      const member = startService('projector', {
        ...testEnvironment.environment,
        LOG_LEVEL: 'info',
        KAFKA_SESSION_TIMEOUT_MS: String(sessionTimeoutMs),
        ...settings,
      });
      members.push(member);
      void member.exited.then((code) => {
        if (members.includes(member)) errors.push(new Error(`a projector died, ${code}: ${tail(member)}`));
      });
      return member;
    },
    kill: async (victim) => {
      remove(victim);
      await victim.stop('SIGKILL');
    },
    pick: (random) => random.pick(members),
    leave,
    fatal: () => errors,
    stop: async () => {
      await Promise.all([...members].map(leave));
    },
  };
}

const tail = ({ log, stderr }: Service) =>
  [...log.slice(-8).map((line) => JSON.stringify(line)), stderr()].join('\n');

/** Waits until `condition` holds; the test's own limit ends a wait that is in vain. */
export async function eventually(
  condition: () => Promise<boolean> | boolean,
  fatal: () => Error[] = () => [],
): Promise<void> {
  while (!(await condition())) {
    const [error] = fatal();
    if (error) throw error;
    await delay(100);
  }
}
