import { type Collection, type Db, type Document, MongoServerError } from 'mongodb';
import { kinds } from '../documents/resources.ts';
import { collectionOf } from './connection.ts';

/**
 * MongoDB's codes for a command that the server does not have: CommandNotFound, CommandNotSupported, NotImplemented.
 */
const unsupportedCodes = [59, 115, 238];

/**
 * The numbers of the generations that have a database beside a control database. MongoDB lists only the databases that
 * the user may read. Empty if the server does not have this command. Rejects if the server refuses the list to this
 * user, because there may be databases that this process cannot see.
 */
export async function listGenerationDatabases({ client, databaseName }: Db): Promise<number[]> {
  const pattern = new RegExp(`^${databaseName}_g([1-9][0-9]{0,8})$`);
  try {
    const list = await client.db().admin().listDatabases({ nameOnly: true });
    const numbers = list.databases.map(({ name }) => pattern.exec(name)?.[1]);
    return numbers.filter((number) => number !== undefined).map(Number);
  } catch (error) {
    if (error instanceof MongoServerError && unsupportedCodes.includes(Number(error.code))) return [];
    throw error;
  }
}

/** Whether a generation's database contains a document of an entity, living or deleted. */
export async function hasDocuments(database: Db): Promise<boolean> {
  for (const kind of kinds) {
    if (await hasDocument(collectionOf(database, kind))) return true;
  }
  return false;
}

/** Whether a collection contains a document. */
export async function hasDocument<T extends Document>(collection: Collection<T>): Promise<boolean> {
  const ids = collection.find({}, { projection: { _id: 1 } });
  return ids.sort({ _id: 1 }).limit(1).hasNext();
}
