import { appendFileSync } from 'node:fs';
import { MongoClient } from 'mongodb';
import { kinds } from '../../shared/documents/document.ts';
import { resources } from '../../shared/documents/resources.ts';
import { allOrganizations } from '../../shared/store/all-organizations.ts';
import { monitorCommands } from './monitor-commands.ts';

/*
 * Each test file loads this module, and so does each service that it starts. It records, in the file that
 * COMMANDS_WITHOUT_ORGANIZATION names, every command on the documents of a generation that names no organization.
 */

const collections = new Set(kinds.map((kind) => resources[kind].collection));
const reasons: unknown[] = Object.values(allOrganizations);

/** The parts of a command that tell which documents it is for. */
type Command = {
  [name: string]: unknown;
  comment?: unknown;
  filter?: unknown;
  query?: unknown;
  pipeline?: Record<string, unknown>[];
  documents?: unknown[];
  updates?: { q: unknown }[];
  deletes?: { q: unknown }[];
};

const isId = (value: unknown) => typeof value === 'string';

/** Whether a filter names organizations, as the router of a sharded cluster needs it. */
const isNamedIn = (filter: unknown): boolean => {
  const orgId: unknown = (filter as { orgId?: unknown } | undefined)?.orgId;
  const among = (orgId as { $in?: unknown[] } | null | undefined)?.$in;
  return isId(orgId) || (Array.isArray(among) && among.every(isId));
};

/** The filters, or the new documents, of each command that reads or writes documents. */
const filters: Record<string, (command: Command) => unknown[]> = {
  find: ({ filter }) => [filter],
  aggregate: ({ pipeline }) => [pipeline?.[0]?.$match],
  distinct: ({ query }) => [query],
  // Without a query, it reads the number in the collection's metadata.
  count: ({ query }) => (query ? [query] : []),
  findAndModify: ({ query }) => [query],
  insert: ({ documents = [] }) => documents,
  update: ({ updates = [] }) => updates.map(({ q }) => q),
  delete: ({ deletes = [] }) => deletes.map(({ q }) => q),
};

/** A command on documents of a generation that names neither an organization nor a reason for that; null for others. */
export function withoutOrganization(name: string, database: string, command: Command): string | null {
  const collection = String(command[name]);
  const wanted = filters[name]?.(command);
  if (!/_g\d+$/.test(database) || !collections.has(collection) || !wanted) return null;
  const unnamed = wanted.filter((filter) => !isNamedIn(filter));
  if (unnamed.length === 0 || reasons.includes(command.comment)) return null;
  return `${name} ${collection} by ${Object.keys(unnamed[0] ?? {}).join() || 'nothing'}`;
}

const { connect } = MongoClient.prototype as { connect: (this: MongoClient) => Promise<MongoClient> };
const watched = new WeakSet<MongoClient>();
MongoClient.prototype.connect = function (this: MongoClient) {
  const { appName } = this.options;
  // The services name themselves; the clients with which tests look into the databases do not. The contenders of the
  // bench write as simply as possible.
  if (appName !== undefined && appName !== 'bench' && !watched.has(this)) {
    watched.add(this);
    monitorCommands(this);
    this.on('commandStarted', ({ commandName, databaseName, command }) => {
      const path = process.env.COMMANDS_WITHOUT_ORGANIZATION;
      const found = withoutOrganization(commandName, databaseName, command);
      if (path && found) appendFileSync(path, `${appName}: ${found}\n`);
    });
  }
  return connect.call(this);
};
