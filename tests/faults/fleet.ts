import type { Random } from '../support/random.ts';
import type { TestEnvironment } from '../support/test-environment.ts';
import { startService, type Service } from '../support/service.ts';

/** The group removes a member after this long without a heartbeat. It is short to keep the tests short. */
export const sessionTimeoutMs = 2_000;

/** Projector processes of one consumer group. */
export type Fleet = {
  add: () => Service;
  /** Ends one with SIGKILL. */
  kill: (victim: Service) => Promise<void>;
  pick: (random: Random) => Service;
  /** Stops one with SIGTERM; it must exit with 0. */
  leave: (member: Service) => Promise<void>;
  /** One error for each unexpected exit. */
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

/** The reason why it ended, and the last lines. */
const tail = ({ log, stderr }: Service) => {
  const reasons = log.slice(0, -8).filter(({ level }) => level === 'fatal');
  return [...[...reasons, ...log.slice(-8)].map((line) => JSON.stringify(line)), stderr()].join('\n');
};
