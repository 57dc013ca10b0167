import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';

/** The databases of a deployment, under a name that no other test has; by default on the MongoDB of the test run. */
export async function openDatabases(url = process.env.MONGODB_URL) {
  if (!url) throw new Error('MONGODB_URL is not set: run these tests through `npm test`');
  const mongo = new MongoClient(url, { monitorCommands: true });
  const name = `t${randomBytes(5).toString('hex')}`;
  return {
    mongo,
    name,
    control: mongo.db(name),
    database: mongo.db(`${name}_g1`),
    close: async () => {
      const databases = [name, ...[1, 2, 3, 4].map((number) => `${name}_g${number}`)];
      try {
        for (const database of databases) await mongo.db(database).dropDatabase({ timeoutMS: 60_000 });
      } finally {
        await mongo.close();
      }
    },
  };
}
