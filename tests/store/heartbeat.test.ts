import type { Collection } from 'mongodb';
import { pino } from 'pino';
import { type AnnouncedEntry, createHeartbeat } from '../../shared/control/heartbeat.ts';
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

  const entryOf = (changes: Partial<AnnouncedEntry<Projector>> = {}): AnnouncedEntry<Projector> => {
    const { _id, host, pid, release, at, ...rest } = projector();
    return { ...rest, ...changes };
  };
  const lines: string[] = [];
  const logger = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(line) });
  const messages = () => {
    const logged = lines.splice(0).map((line) => JSON.parse(line) as { msg: string });
    return logged.map(({ msg }) => msg);
  };
  /** The control database with an `updateOne` of the test in its collection of processes. */
  const controlWith = (updateOne: (...args: Parameters<UpdateOne>) => Promise<unknown>) => {
    const changed: unknown = Object.create(processes(), { updateOne: { value: updateOne } });
    return Object.create(opened.control, { collection: { value: () => changed } }) as typeof opened.control;
  };

  test('the announcement stores the present entry at each beat with the time of MongoDB', async () => {
    let entry = entryOf({ state: 'starting' });
    const { control } = opened;
    const heartbeat = createHeartbeat({ control, read: () => entry, logger, intervalMs: 10 });
    heartbeat.begin();
    const stored = () => processes().findOne({ _id: heartbeat.id });
    await eventually(async () => (await stored())?.state === 'starting');
    entry = entryOf({ state: 'cut_off', reason: 'no answer' });
    await eventually(async () => (await stored())?.reason === 'no answer');
    const announced = await stored();
    expect(announced).toMatchObject({ ...entry, pid: process.pid });
    expect(announced && isLive(announced, await storeTime(control))).toBe(true);
    await heartbeat.end('ended', null);
  });

  test('the process logs an outage of MongoDB once and continues afterwards', async () => {
    let calls = 0;
    const refuseTwice = () => {
      calls += 1;
      if (calls <= 2) return Promise.reject(new Error('away'));
      return processes().updateOne({ _id: 'seen' }, { $set: { pid: 1 } }, { upsert: true });
    };
    const control = controlWith(refuseTwice);
    const heartbeat = createHeartbeat({ control, read: entryOf, logger, intervalMs: 10 });
    heartbeat.begin();
    await eventually(async () => (await processes().countDocuments({ _id: 'seen' })) === 1);
    await eventually(() => lines.length === 2);
    expect(messages()).toEqual([
      'cannot announce this process; commands count it as ended',
      'this process is announced again',
    ]);
    await heartbeat.end('ended', null);
  });

  test('the announcement keeps the reason of its first end', async () => {
    const heartbeat = createHeartbeat({ control: opened.control, read: entryOf, logger, intervalMs: 1 });
    heartbeat.begin();
    await eventually(async () => (await processes().countDocuments({})) === 1);
    await heartbeat.end('ended', 'gone');
    await heartbeat.end('ended', null);
    await storeTime(opened.control);
    const announced = await processes().findOne({ _id: heartbeat.id });
    expect(announced).toMatchObject({ state: 'ended', reason: 'gone' });
    expect(announced && isLive(announced, announced.at)).toBe(false);
  });

  test('the announcement stays ended although MongoDB applies an earlier beat after the end', async () => {
    const collection = processes();
    const gate = Promise.withResolvers<void>();
    const beats: Promise<unknown>[] = [];
    const writeAfterGate = async (...args: Parameters<UpdateOne>) => {
      await gate.promise;
      return collection.updateOne(...args);
    };
    const delayFirst = (...args: Parameters<UpdateOne>) => {
      const beat = beats.length === 0 ? writeAfterGate(...args) : collection.updateOne(...args);
      beats.push(beat);
      return beat;
    };
    const heartbeat = createHeartbeat({ control: controlWith(delayFirst), read: entryOf, logger });
    heartbeat.begin();
    await heartbeat.end('ended', 'gone');
    gate.resolve();
    await Promise.allSettled(beats);
    expect(await collection.findOne({ _id: heartbeat.id })).toMatchObject({ state: 'ended', reason: 'gone' });
  });

  test('the announcement ends without an answer of MongoDB', async () => {
    const neverAnswer = () => new Promise<never>(() => undefined);
    const heartbeat = createHeartbeat({ control: controlWith(neverAnswer), read: entryOf, logger });
    // An end before the start sends no command to MongoDB.
    await heartbeat.end('refused', 'no answer');
    expect(await processes().countDocuments({})).toBe(0);
    heartbeat.begin();
    await heartbeat.end('refused', 'no answer');
  });

  test('the announcement is removed after an hour unless it has the reason of the last end in its generation', async () => {
    const now = new Date('2126-03-20T12:00:00Z');
    const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000);
    const at = minutesAgo(61);
    await processes().insertMany([
      projector({ _id: 'killed', at }),
      projector({ _id: 'refused', state: 'refused', reason: 'no', at }),
      projector({ _id: 'stopped', state: 'ended', at }),
      projector({ _id: 'failed', state: 'ended', reason: 'gone', at }),
      projector({ _id: 'failed_generation_2', generation: 2, state: 'ended', reason: 'gone', at }),
      projector({ _id: 'failed_recently', state: 'ended', reason: 'gone', at: minutesAgo(59) }),
    ]);
    const remainingIds = async () => {
      const remaining = await processes().find().sort({ _id: 1 }).toArray();
      return remaining.map(({ _id }) => _id);
    };
    await removeOldProcesses(opened.control, now);
    expect(await remainingIds()).toEqual(['failed', 'failed_generation_2', 'failed_recently']);
    // when another projector follows generation 1
    await removeOldProcesses(opened.control, now, 1);
    expect(await remainingIds()).toEqual(['failed_generation_2', 'failed_recently']);
  });
});
