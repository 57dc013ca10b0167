import { type Db, MongoClient } from 'mongodb';
import { MongoMemoryReplSet } from 'mongodb-memory-server-core';
import { findProgram } from './mongo-servers.ts';

const administrator = { customRootName: 'root', customRootPwd: 'root' };

/** The password of every user that a test creates. */
export const password = 'secret';

/** A replica set of one that admits users alone. `args` are further arguments of `mongod`. */
export async function startMongoWithUsers(args: string[] = []) {
  const { path: systemBinary = '', version = '' } = findProgram('mongod') ?? {};
  const servers = await MongoMemoryReplSet.create({
    replSet: { count: 1, storageEngine: 'wiredTiger', args, auth: { enable: true, ...administrator } },
    instanceOpts: [{ launchTimeout: 180_000 }],
    binary: { systemBinary, version },
  });
  const urlFor = (user: string, secret: string) => {
    const url = new URL(servers.getUri());
    return `mongodb://${user}:${secret}@${url.host}/?replicaSet=${url.searchParams.get('replicaSet')}&authSource=admin`;
  };
  const adminUrl = urlFor(administrator.customRootName, administrator.customRootPwd);
  return {
    /** The address for the administrator. */
    adminUrl,
    /** The address for a user that a test created. */
    urlOf: (user: string) => urlFor(user, password),
    /** Runs commands on the database `admin` as the administrator. */
    asAdmin: async <T>(run: (admin: Db) => Promise<T>): Promise<T> => {
      await using client = new MongoClient(adminUrl);
      return await run(client.db('admin'));
    },
    close: () => servers.stop(),
  };
}
