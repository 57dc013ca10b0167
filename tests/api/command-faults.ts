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
  const { maxTimeMS, ...sentCommand } = command as Command;
  const name = `${commandName} ${String(sentCommand[commandName])}`;
  const faults: string[] = [];
  const endsInTime = maxTimeMS !== undefined && maxTimeMS < readTimeoutMs;
  if (!endsInTime && !unlimited.includes(commandName)) faults.push(`${name} has the limit ${maxTimeMS} ms`);
  const read = filterIn[commandName];
  const readsGeneration = read !== undefined && /_g\d+$/.test(databaseName);
  if (!readsGeneration) return faults;
  const filter = read(sentCommand) ?? {};
  const isKeyLookUp = name === 'find apiKeys' && Boolean(filter['state.tokenSha256']);
  if (!isKeyLookUp && !namesOrganizations(filter))
    faults.push(`${name} by ${Object.keys(filter).join() || 'nothing'}`);
  return faults;
}

/** Whether a filter names the organization, or each of the organizations, whose documents it matches. */
function namesOrganizations({ orgId }: Filter): boolean {
  const among = (orgId as { $in?: unknown[] } | undefined)?.$in ?? [orgId];
  return among.every((id) => typeof id === 'string');
}
