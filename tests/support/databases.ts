import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';

/** The databases of a deployment on the MongoDB of the test run, under a name that no other test has. */
export async function openDatabases() {
  const mongo = new MongoClient(process.env.MONGODB_URL ?? '', { monitorCommands: true });
  const name = `t${randomBytes(5).toString('hex')}`;
  const [control, database] = [mongo.db(name), mongo.db(`${name}_g1`)];
  return {
    mongo,
    control,
    database,
    close: async () => {
      await Promise.all([control.dropDatabase(), database.dropDatabase()]);
      await mongo.close();
    },
  };
}
