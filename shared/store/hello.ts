import { MongoServerError } from 'mongodb';
import { notPrimaryCode } from './error-codes.ts';
import { type Commanded, type CommandLimits, runCommand } from './run-command.ts';

/** The parts of MongoDB's answer to `hello` that the services read. */
export type Hello = {
  /** The server's clock. */
  localTime: Date;
  /** About the spread of its last write; a single server and mongos lack it. */
  lastWrite?: { opTime?: OpTime; majorityOpTime?: OpTime; majorityWriteDate?: Date };
};
type OpTime = { ts: { toString: () => string } };

/**
 * Asks the server that the control database is read from who it is. Rejects if it is not the primary: with
 * `directConnection=true` the driver reads from any member as if it were.
 */
export async function readHello(control: Commanded, limits: CommandLimits = {}): Promise<Hello> {
  const hello = await runCommand(control, { hello: 1 }, limits);
  if (hello.isWritablePrimary === false) {
    const member = typeof hello.me === 'string' ? hello.me : 'the server';
    throw new MongoServerError({ code: notPrimaryCode, errmsg: `${member} is not the primary` });
  }
  return hello as Hello;
}
