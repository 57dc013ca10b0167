import type { CommandStartedEvent } from 'mongodb';
import { readTimeoutMs } from '../../services/api/store/deadline.ts';

type Filter = { orgId?: unknown; 'state.tokenSha256'?: unknown };
type Command = {
  filter?: Filter;
  query?: Filter;
  pipeline?: { $match?: Filter }[];
  maxTimeMS?: number;
} & Record<string, unknown>;

const filterIn: Record<string, (command: Command) => Filter | undefined> = {
  find: ({ filter }) => filter,
  aggregate: ({ pipeline }) => pipeline?.[0]?.$match,
  count: ({ query }) => query,
  distinct: ({ query }) => query,
};

/** Commands that read nothing, and the writes of traces, whose connection a signal ends. */
const unlimited = ['hello', 'ping', 'endSessions', 'killCursors', 'insert', 'createIndexes'];

/**
 * The faults of a command of the API. On a generation's documents it names an organization; only the look-up of a key
 * by its token may not. It ends at the store before the driver would drop its connection.
 */
export function commandFaults({ commandName, databaseName, command }: CommandStartedEvent): string[] {
  const { maxTimeMS = Infinity, ...sentCommand } = command as Command;
  const name = `${commandName} ${String(sentCommand[commandName])}`;
  const hasLimit = maxTimeMS < readTimeoutMs || unlimited.includes(commandName);
  const faults = hasLimit ? [] : [`${name} takes up to ${maxTimeMS} ms`];
  const read = filterIn[commandName];
  if (!read || !/_g\d+$/.test(databaseName)) return faults;
  const filter = read(sentCommand) ?? {};
  const among = (filter.orgId as { $in?: unknown[] } | undefined)?.$in ?? [filter.orgId];
  const isNamed = among.every((orgId) => typeof orgId === 'string');
  if (isNamed || (name === 'find apiKeys' && filter['state.tokenSha256'])) return faults;
  return [...faults, `${name} by ${Object.keys(filter).join() || 'nothing'}`];
}
