import type { CommandStartedEvent, MongoClient } from 'mongodb';
import { monitorCommands } from '../support/monitor-commands.ts';

type Filter = { orgId?: unknown; 'state.tokenSha256'?: unknown };
type Command = { filter?: Filter; query?: Filter; pipeline?: { $match?: Filter }[] };

const filterIn: Record<string, (command: Command) => Filter | undefined> = {
  find: ({ filter }) => filter,
  aggregate: ({ pipeline }) => pipeline?.[0]?.$match,
  count: ({ query }) => query,
  distinct: ({ query }) => query,
};

/** A command on a generation's documents that names no organization. Only the look-up of a key by its token may. */
function withoutOrganization({ commandName, databaseName, command }: CommandStartedEvent): string | null {
  const read = filterIn[commandName];
  if (!read || !/_g\d+$/.test(databaseName)) return null;
  const filter = read(command) ?? {};
  const collection = String(command[commandName]);
  const among = (filter.orgId as { $in?: unknown[] } | undefined)?.$in ?? [filter.orgId];
  const isNamed = among.every((orgId) => typeof orgId === 'string');
  if (isNamed || (collection === 'apiKeys' && filter['state.tokenSha256'])) return null;
  return `${commandName} ${collection} by ${Object.keys(filter).join() || 'nothing'}`;
}

/** Returns the commands of a client that name no organization, as they come. */
export function watchOrganizations(client: MongoClient): Set<string> {
  const found = new Set<string>();
  monitorCommands(client).on('commandStarted', (event) => {
    const unnamed = withoutOrganization(event);
    if (unnamed) found.add(unnamed);
  });
  return found;
}
