import type { CommandOperationOptions, Db } from 'mongodb';

/**
 * The time of the store's own clock, that of the primary. Every service judges completeness and expiry by this
 * clock, because the clocks of hosts and of producers may be wrong.
 */
export async function storeTime(control: Db, options: CommandOperationOptions = {}): Promise<Date> {
  const { localTime } = await control.command({ hello: 1 }, options);
  return localTime as Date;
}
