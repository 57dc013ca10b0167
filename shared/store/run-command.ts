import { type Abortable, type Db, type Document, type RunCommandOptions, WriteConcern } from 'mongodb';
import { withCommandLimit } from './within-limit.ts';

/**
 * Whether a raw command takes the read or write concern of its database. Otherwise the cluster's defaults would apply.
 */
const concerns = {
  createIndexes: 'write',
  dbStats: 'none',
  find: 'read',
  hello: 'none',
  insert: 'write',
} as const;

export type Command = {
  [Name in keyof typeof concerns]: Record<Name, unknown> & Document;
}[keyof typeof concerns];

/** The limits of a command: the caller's signal, and `maxTimeMS`, after which the server ends it. */
export type CommandLimits = Abortable & { maxTimeMS?: number };

/** The parts of its database that a raw command needs. */
export type Commanded = Pick<Db, 'command' | 'readPreference' | 'readConcern' | 'writeConcern'>;

/**
 * Runs a command for which the driver has no suitable method. Adds the options that the driver adds only to its own
 * commands: read preference, read or write concern, and the server's time limit. Without the caller's signal, the
 * command fails after a minute.
 */
export async function runCommand(
  database: Commanded,
  command: Command,
  { maxTimeMS, signal, ...options }: RunCommandOptions & CommandLimits = {},
): Promise<Document> {
  const { readPreference, readConcern, writeConcern } = database;
  // MongoDB takes the first field for the name of the command, so `command` comes first.
  const fullCommand: Document = { ...command };
  const concern = concerns[Object.keys(command)[0] as keyof typeof concerns];
  if (maxTimeMS !== undefined) fullCommand.maxTimeMS = maxTimeMS;
  // The concern is copied, because the driver writes the time of a session into it.
  if (concern === 'read' && readConcern) fullCommand.readConcern ??= { ...readConcern };
  if (concern === 'write' && writeConcern && !('writeConcern' in command))
    WriteConcern.apply(fullCommand, writeConcern);
  const run = (limit: Abortable) => database.command(fullCommand, { readPreference, ...options, ...limit });
  return signal ? run({ signal }) : withCommandLimit(run);
}
