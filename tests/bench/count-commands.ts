import { writeFileSync } from 'node:fs';
import { MongoClient } from 'mongodb';
import { monitorCommands } from '../support/monitor-commands.ts';

/*
 * Loaded into a contender (`--import`), this module counts its commands and the documents that they read and write, and
 * writes the counts into the file that COUNTS_FILE names when the process exits.
 */

/** The commands of a process, and their documents. */
export type Counts = { commands: number; read: number; written: number };

type Command = Partial<Record<'documents' | 'updates' | 'deletes' | 'ops', unknown[]>>;
type Reply = { cursor?: Partial<Record<'firstBatch' | 'nextBatch', unknown[]>> };

const counts: Counts = { commands: 0, read: 0, written: 0 };
const { connect } = MongoClient.prototype as { connect: (this: MongoClient) => Promise<MongoClient> };
const counted = new WeakSet<MongoClient>();

MongoClient.prototype.connect = function (this: MongoClient) {
  if (!counted.has(this)) {
    counted.add(this);
    monitorCommands(this);
    this.on('commandStarted', ({ commandName, command }) => {
      const { documents, updates, deletes, ops } = command as Command;
      counts.commands += 1;
      counts.written += (documents ?? updates ?? deletes ?? ops ?? []).length;
      if (commandName === 'findAndModify') counts.written += 1;
    });
    this.on('commandSucceeded', ({ reply }) => {
      const { cursor } = reply as Reply;
      counts.read += (cursor?.firstBatch ?? cursor?.nextBatch ?? []).length;
    });
  }
  return connect.call(this);
};

process.once('exit', () => writeFileSync(process.env.COUNTS_FILE ?? '', JSON.stringify(counts)));
