import { pino } from 'pino';
import { ensureRegistry, readRegistry } from '../../shared/control/generations.ts';
import { monitorPools } from '../../shared/control/pool-monitor.ts';
import { controlDatabase, createMongo } from '../../shared/store/connection.ts';
import { createAnsweringProxy, type Refusal } from '../support/answering-proxy.ts';
import { eventually, succeeds } from '../support/eventually.ts';
import { proxiedUrl } from '../support/store-proxy.ts';
import { useOpened } from '../support/use-opened.ts';

const requiresAuthentication = { code: 13, errmsg: 'Command find requires authentication' };
const times = { everyMs: 20, freshEveryMs: 100 };

afterAll(async () => {
  const mongo = createMongo(process.env.MONGODB_URL ?? '', 'test');
  await controlDatabase(mongo, 'pool_monitor').dropDatabase();
  await mongo.close();
});

/** A client behind a proxy, with five open connections and a monitor of its pool. */
const opened = useOpened(
  async () => {
    const proxy = createAnsweringProxy(process.env.MONGODB_URL ?? '');
    // On a busy machine, the first connection may need more time than the default limit of the tests' clients.
    const url = proxiedUrl(await proxy.listen(), 'serverSelectionTimeoutMS=60000');
    const pool = createMongo(url, 'test', { poolSize: 5 });
    const control = controlDatabase(pool, 'pool_monitor');
    await ensureRegistry(control);
    const read = () => readRegistry(control);
    await Promise.all(Array.from({ length: 5 }, read));
    const warnings: string[] = [];
    let skippedMs = 0;
    /** The results of `failure` at each warning, after a pool has been opening for longer than a pool may fail. */
    const failuresWhileOpening: (string | null)[] = [];
    const onWarning = (line: string) => {
      warnings.push(line);
      skippedMs += 200_000;
      failuresWhileOpening.push(monitor.failure());
    };
    const logger = pino({ base: null }, { write: onWarning });
    const nowMs = () => performance.now() + skippedMs;
    let freshClients = 0;
    let refusedReads = 0;
    const createFresh = () => {
      freshClients += 1;
      return createMongo(url, 'test-check', { poolSizeMax: 1 });
    };
    const monitor = monitorPools(
      { pools: { data: pool }, createFresh, database: 'pool_monitor', logger, nowMs },
      times,
    );
    /** Refuses commands on the connections that are open now; with `isOnNew`, on later connections as well. */
    const refuse = (refusal: Refusal | null, { isOnNew = false } = {}) => {
      const { connections } = proxy.state;
      proxy.state.answer = ({ name, connection }) => {
        if (!name.startsWith('find') || (!isOnNew && connection > connections)) return null;
        if (refusal !== null) refusedReads += 1;
        return refusal;
      };
    };
    /** Resolves when the proxy has refused this number of additional reads. */
    const untilRefused = async (additional: number) => {
      const wanted = refusedReads + additional;
      await eventually(() => refusedReads >= wanted);
    };
    /** Resolves when the monitor has used this number of additional fresh clients. */
    const untilFreshClients = async (additional: number) => {
      const wanted = freshClients + additional;
      await eventually(() => freshClients >= wanted);
    };
    /** Moves the clock of the monitor forward. */
    const skip = (ms: number) => {
      skippedMs += ms;
    };
    const close = async () => {
      monitor.stop();
      await pool.close();
      await proxy.close();
    };
    return {
      monitor,
      read,
      refuse,
      untilRefused,
      untilFreshClients,
      skip,
      warnings,
      failuresWhileOpening,
      freshClientCount: () => freshClients,
      close,
    };
  },
  { each: true },
);

test('the monitor opens a pool again after its user was dropped and created again', async () => {
  opened.refuse(requiresAuthentication);
  await expect(opened.read()).rejects.toMatchObject({ code: 13 });
  await eventually(() => succeeds(opened.read()));
  expect(opened.warnings.join()).toContain('opened again');
  // On a busy machine, the monitor opens the pool twice: the first time, the old connections may take long to close.
  expect(opened.failuresWhileOpening[0]).toBeNull();
  await eventually(() => opened.monitor.failure() === null);
});

test('a pool needs a restart after it has failed for three minutes beside a working fresh connection', async () => {
  opened.refuse({ code: 1, errmsg: 'wedged' });
  await opened.untilFreshClients(2);
  opened.skip(170_000);
  await opened.untilFreshClients(2);
  expect(opened.monitor.failure()).toBeNull();
  opened.skip(10_000);
  await eventually(() => opened.monitor.failure() !== null);
  expect(opened.monitor.failure()).toMatch(
    /^the connections to MongoDB \(data\) have failed for \d+ s, although a new one works: wedged$/,
  );
  // then the pool needs no restart once it works again
  opened.refuse(null);
  await eventually(() => opened.monitor.failure() === null);
  expect(opened.warnings).toEqual([]);
});

test.each([
  ['refuses this user everywhere', requiresAuthentication],
  ['fails everywhere', { code: 1 }],
])('a pool keeps its connections if MongoDB %s', async (_, refusal) => {
  opened.refuse(refusal, { isOnNew: true });
  await opened.untilFreshClients(6);
  expect(opened.monitor.failure()).toBeNull();
  expect(opened.warnings).toEqual([]);
});

test('the monitor opens no fresh connections to an overloaded MongoDB', async () => {
  opened.refuse({ code: 462, errorLabels: ['SystemOverloadedError'] });
  await expect(opened.read()).rejects.toMatchObject({ code: 462 });
  const countBefore = opened.freshClientCount();
  // when the monitor has checked the pool again, each time after the interval of fresh connections
  for (let round = 0; round < 3; round += 1) {
    opened.skip(200_000);
    await opened.untilRefused(4);
  }
  // One check may have been in progress when MongoDB refused the read.
  expect(opened.freshClientCount() - countBefore).toBeLessThanOrEqual(1);
  expect(opened.monitor.failure()).toBeNull();
});
