import { MongoServerError } from 'mongodb';
import { notPrimaryCode } from './error-codes.ts';
import { type Commanded, type CommandLimits, runCommand } from './run-command.ts';

/** The parts of MongoDB's answer to `hello` that the services read. */
export type Hello = {
  /** The server's clock. */
  localTime: Date;
  /** The last write of the server, and the last one that a majority has. A single server and mongos lack this field. */
  lastWrite?: { opTime?: OpTime; majorityOpTime?: OpTime; majorityWriteDate?: Date };
};

type OpTime = { ts: { toString: () => string } };

/**
 * Sends `hello` to the server of the control database. Rejects if the server is not the primary: with
 * `directConnection=true` the driver would read from any member as if it were the primary.
 */
export async function readHello(control: Commanded, limits: CommandLimits = {}): Promise<Hello> {
  const hello = await runCommand(control, { hello: 1 }, limits);
  if (hello.isWritablePrimary === false) {
    const member = typeof hello.me === 'string' ? hello.me : 'the server';
    throw new MongoServerError({ code: notPrimaryCode, errmsg: `${member} is not the primary` });
  }
  return hello as Hello;
}
