import { MongoClient } from 'mongodb';
import { errorMessage } from '../../shared/runtime/error-message.ts';

/** A server that is not reached within 5 s, or does not answer within 30 s, counts as unreachable. */
const limits = { serverSelectionTimeoutMS: 5_000, socketTimeoutMS: 30_000 };

/**
 * Asks the store for its name and version: "MongoDB 8.0.32 (replica set of one)", "FerretDB 2.7.0, a stand-in for
 * MongoDB". Rejects if it does not answer.
 */
export async function readStoreName(url: string): Promise<string> {
  try {
    await using client = new MongoClient(url, limits);
    const admin = client.db('admin');
    const build = (await admin.command({ buildInfo: 1 })) as {
      version: string;
      ferretdb?: { version: string };
    };
    if (build.ferretdb) {
      // Listing collections reaches PostgreSQL, which the command above does not.
      await admin.listCollections().toArray();
      return `FerretDB ${build.ferretdb.version.replace(/^v/, '')}, a stand-in for MongoDB`;
    }
    return `MongoDB ${build.version} (${topology(await admin.command({ hello: 1 }))})`;
  } catch (error) {
    throw new Error(`MongoDB (MONGODB_URL) cannot be reached: ${errorMessage(error)}`, { cause: error });
  }
}

/** Whether the store answers. */
export const storeAnswers = (url: string): Promise<boolean> =>
  readStoreName(url).then(
    () => true,
    () => false,
  );

function topology({ msg, hosts }: { msg?: string; hosts?: string[] }): string {
  if (msg === 'isdbgrid') return 'sharded cluster';
  if (!hosts) return 'no replica set';
  return `replica set of ${hosts.length === 1 ? 'one' : hosts.length}`;
}

const choices = ['mongod', 'stand-in'] as const;

/** Returns the store that DEV_STORE names. Undefined leaves the choice to the providers. */
export function readStoreChoice() {
  const { DEV_STORE } = process.env;
  const choice = choices.find((name) => name === DEV_STORE);
  if (DEV_STORE && !choice) throw new Error(`DEV_STORE: must be ${choices.join(' or ')}`);
  return choice;
}
