import { pino } from 'pino';
import { ensureRegistry, readRegistry } from '../../shared/control/generations.ts';
import { monitorPools } from '../../shared/control/pool-monitor.ts';
import { controlDatabase, createMongo } from '../../shared/store/connection.ts';
import { createAnsweringProxy, type Refusal } from '../support/answering-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { proxiedUrl } from '../support/store-proxy.ts';
import { useOpened } from '../support/use-opened.ts';

const requiresAuthentication = { code: 13, errmsg: 'Command find requires authentication' };
const times = { everyMs: 20, freshEveryMs: 100 };

afterAll(async () => {
  const mongo = createMongo(process.env.MONGODB_URL ?? '', 'test');
  await controlDatabase(mongo, 'pool_monitor').dropDatabase();
  await mongo.close();
});

/** A client behind a proxy, with a monitor of its pool. It has opened its connections. */
const opened = useOpened(
  async () => {
    const proxy = createAnsweringProxy(process.env.MONGODB_URL ?? '');
    // On a busy machine, the first connection may need more time than most tests allow.
    const url = proxiedUrl(await proxy.listen(), 'serverSelectionTimeoutMS=60000');
    const pool = createMongo(url, 'test', { poolSize: 5 });
    const control = controlDatabase(pool, 'pool_monitor');
    await ensureRegistry(control);
    const read = () => readRegistry(control);
    await Promise.all(Array.from({ length: 5 }, read));
    const warnings: string[] = [];
    let passedMs = 0;
    /** The answers of `failure` when a pool has been opening for longer than it may fail. */
    const failuresWhileOpening: (string | null)[] = [];
    const onWarning = (line: string) => {
      warnings.push(line);
      passedMs += 200_000;
      failuresWhileOpening.push(monitor.failure());
    };
    const logger = pino({ base: null }, { write: onWarning });
    const nowMs = () => performance.now() + passedMs;
    let fresh = 0;
    const createFresh = () => {
      fresh += 1;
      return createMongo(url, 'test-check', { poolSizeMax: 1 });
    };
    const monitor = monitorPools(
      { pools: { data: pool }, createFresh, database: 'pool_monitor', logger, nowMs },
      times,
    );
    /** Refuses commands on the connections that are open now; with `isOnNew`, on later connections, too. */
    const refuse = (refusal: Refusal | null, { isOnNew = false } = {}) => {
      const { connections } = proxy.state;
      proxy.state.answer = ({ name, connection }) =>
        name.startsWith('find') && (isOnNew || connection <= connections) ? refusal : null;
    };
    /** Resolves when the monitor has used this number of further fresh clients. */
    const triedFresh = async (more: number) => {
      const wanted = fresh + more;
      await eventually(() => fresh >= wanted);
    };
    const pass = (ms: number) => (passedMs += ms);
    const close = async () => {
      monitor.stop();
      await pool.close();
      await proxy.close();
    };
    return {
      monitor,
      read,
      refuse,
      triedFresh,
      pass,
      warnings,
      failuresWhileOpening,
      freshCount: () => fresh,
      close,
    };
  },
  { each: true },
);

test('connections whose user was dropped and created again are opened again', async () => {
  opened.refuse(requiresAuthentication);
  await expect(opened.read()).rejects.toMatchObject({ code: 13 });
  await eventually(() => opened.read().then(() => true, String));
  expect(opened.warnings.join()).toContain('opened again');
  // On a busy machine, the monitor opens the pool twice: the first time, the old connections may take long to close.
  expect(opened.failuresWhileOpening[0]).toBeNull();
  await eventually(() => opened.monitor.failure() === null);
});

test('a pool that fails for three minutes while a fresh connection works needs a restart, until it works', async () => {
  opened.refuse({ code: 1, errmsg: 'wedged' });
  await opened.triedFresh(2);
  opened.pass(170_000);
  await opened.triedFresh(2);
  expect(opened.monitor.failure()).toBeNull();
  opened.pass(10_000);
  await eventually(() => opened.monitor.failure() !== null);
  expect(opened.monitor.failure()).toMatch(
    /^the connections to MongoDB \(data\) have failed for \d+ s, although a new one works: wedged$/,
  );
  opened.refuse(null);
  await eventually(() => opened.monitor.failure() === null);
  expect(opened.warnings).toEqual([]);
});

test.each([
  ['refuses this user everywhere', requiresAuthentication],
  ['fails everywhere', { code: 1 }],
])('a MongoDB that %s needs no restart, and keeps its connections', async (_, refusal) => {
  opened.refuse(refusal, { isOnNew: true });
  await opened.triedFresh(6);
  expect(opened.monitor.failure()).toBeNull();
  expect(opened.warnings).toEqual([]);
});

test('a MongoDB that asks for less load gets no fresh connections, and needs no restart', async () => {
  opened.refuse({ code: 462, errorLabels: ['SystemOverloadedError'] });
  await expect(opened.read()).rejects.toMatchObject({ code: 462 });
  const before = opened.freshCount();
  opened.pass(200_000);
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(opened.freshCount() - before).toBeLessThanOrEqual(1);
  expect(opened.monitor.failure()).toBeNull();
});
