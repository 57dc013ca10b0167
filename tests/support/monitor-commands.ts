import type { MongoClient } from 'mongodb';

/** Lets a client emit `commandStarted` and its like. The driver has this setter, but its type declarations do not. */
export const monitorCommands = (client: MongoClient): MongoClient =>
  Object.assign(client, { monitorCommands: true });
