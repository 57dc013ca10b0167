import type { Collection } from 'mongodb';
import { pino } from 'pino';
import { createHeartbeat, type Own } from '../../shared/control/heartbeat.ts';
import { isLive, processesOf, type Projector, removeOldProcesses } from '../../shared/control/processes.ts';
import { storeTime } from '../../shared/store/clock.ts';
import { openDatabases } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { projector } from '../support/facts.ts';
import { useOpened } from '../support/use-opened.ts';

type UpdateOne = Collection<Projector>['updateOne'];

describe('the announcement of a process', () => {
  const opened = useOpened(openDatabases);
  const processes = () => processesOf<Projector>(opened.control);
  beforeEach(() => processes().deleteMany({}));

  const own = (changes: Partial<Own<Projector>> = {}): Own<Projector> => {
    const { _id, host, pid, release, at, ...rest } = projector();
    return { ...rest, ...changes };
  };
  const lines: string[] = [];
  const logger = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) });
  const messages = () => lines.splice(0).map((line) => (JSON.parse(line) as { msg: string }).msg);
  /** The collection of processes, with another `updateOne`. */
  const controlWith = (updateOne: (...args: Parameters<UpdateOne>) => Promise<unknown>) =>
    Object.create(opened.control, {
      collection: { value: () => Object.create(processes(), { updateOne: { value: updateOne } }) as never },
    }) as typeof opened.control;

  test('is repeated by the clock of MongoDB, with the entry as it is then', async () => {
    let entry = own({ state: 'starting' });
    const heartbeat = createHeartbeat({
      ...{ control: opened.control, read: () => entry, logger, intervalMs: 10 },
    });
    heartbeat.begin();
    const stored = () => processes().findOne({ _id: heartbeat.id });
    await eventually(async () => (await stored())?.state === 'starting');
    entry = own({ state: 'cut_off', reason: 'no answer' });
    await eventually(async () => (await stored())?.reason === 'no answer');
    const found = await stored();
    expect(found).toMatchObject({ ...entry, pid: process.pid });
    expect(found && isLive(found, await storeTime(opened.control))).toBe(true);
    await heartbeat.end('ended', null);
  });

  test('goes on while MongoDB refuses it, which is logged once', async () => {
    let refusals = 0;
    const refuseTwice = () => {
      if ((refusals += 1) <= 2) return Promise.reject(new Error('away'));
      return processes().updateOne({ _id: 'seen' }, { $set: { pid: 1 } }, { upsert: true });
    };
    const heartbeat = createHeartbeat({
      ...{ control: controlWith(refuseTwice), read: own, logger, intervalMs: 10 },
    });
    heartbeat.begin();
    await eventually(async () => (await processes().countDocuments({ _id: 'seen' })) === 1);
    await eventually(() => lines.length === 2);
    expect(messages()).toEqual([
      'cannot announce this process; commands count it as ended',
      'this process is announced again',
    ]);
    await heartbeat.end('ended', null);
  });

  test('ends once, after the beat in progress: its reason stays', async () => {
    const heartbeat = createHeartbeat({ control: opened.control, read: own, logger, intervalMs: 1 });
    heartbeat.begin();
    await eventually(async () => (await processes().countDocuments({})) === 1);
    await heartbeat.end('ended', 'gone');
    await heartbeat.end('ended', null);
    await storeTime(opened.control);
    const found = await processes().findOne({ _id: heartbeat.id });
    expect(found).toMatchObject({ state: 'ended', reason: 'gone' });
    expect(found && isLive(found, found.at)).toBe(false);
  });

  test('has ended, although MongoDB applies the last beat after the end', async () => {
    const gate = Promise.withResolvers<void>();
    const beats: Promise<unknown>[] = [];
    const delayFirst = (...args: Parameters<UpdateOne>) => {
      const written = beats.length === 0 ? gate.promise.then(() => write(...args)) : write(...args);
      beats.push(written);
      return written;
    };
    const collection = processes();
    const write = collection.updateOne.bind(collection);
    const heartbeat = createHeartbeat({ control: controlWith(delayFirst), read: own, logger });
    heartbeat.begin();
    await heartbeat.end('ended', 'gone');
    gate.resolve();
    await Promise.allSettled(beats);
    expect(await collection.findOne({ _id: heartbeat.id })).toMatchObject({ state: 'ended', reason: 'gone' });
  });

  test('ends without MongoDB, too', async () => {
    const silent = () => new Promise<never>(() => undefined);
    const heartbeat = createHeartbeat({ control: controlWith(silent), read: own, logger });
    // The heartbeat sends no command before its start has reached MongoDB.
    await heartbeat.end('refused', 'no answer');
    expect(await processes().countDocuments({})).toBe(0);
    heartbeat.begin();
    await heartbeat.end('refused', 'no answer');
  });

  test('is removed an hour later; the reason of an end is, once another projector follows the generation', async () => {
    const now = new Date('2126-03-20T12:00:00Z');
    const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000);
    const at = minutesAgo(61);
    await processes().insertMany([
      projector({ _id: 'killed', at }),
      projector({ _id: 'refused', state: 'refused', reason: 'no', at }),
      projector({ _id: 'stopped', state: 'ended', at }),
      projector({ _id: 'failed', state: 'ended', reason: 'gone', at }),
      projector({ _id: 'other', generation: 2, state: 'ended', reason: 'gone', at }),
      projector({ _id: 'lately', state: 'ended', reason: 'gone', at: minutesAgo(59) }),
    ]);
    const left = async () => (await processes().find().sort({ _id: 1 }).toArray()).map(({ _id }) => _id);
    await removeOldProcesses(opened.control, now);
    expect(await left()).toEqual(['failed', 'lately', 'other']);
    await removeOldProcesses(opened.control, now, { followed: 1 });
    expect(await left()).toEqual(['lately', 'other']);
  });
});
