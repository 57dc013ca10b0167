import type { Kafka } from 'kafkajs';
import { eventually } from '../../tests/support/eventually.ts';
import { monitorBrokers } from './broker-monitor.ts';

/** A monitor whose log client and fresh clients fail as the test sets them. */
function monitoring() {
  const state = { isOldCut: false, isNewCut: false, fresh: 0, disconnected: 0 };
  const answer = async (isCut: boolean) => {
    if (isCut) throw new Error('wedged');
    return { missing: [], hidden: [] };
  };
  const createFresh = () => ({
    connect: async () => {
      state.fresh += 1;
    },
    find: () => answer(state.isNewCut),
    disconnect: async () => {
      state.disconnected += 1;
    },
  });
  const logClient = { find: () => answer(state.isOldCut) };
  const monitor = monitorBrokers(
    { kafka: {} as Kafka, logClient, topics: ['topic'], createFresh },
    { everyMs: 1, freshEveryMs: 1, failingMaxMs: 20 },
  );
  return { state, monitor };
}

test('old connections need a restart while they fail and a new connection works', async () => {
  const { state, monitor } = monitoring();
  state.isOldCut = true;
  await eventually(() => monitor.failure() !== null);
  expect(monitor.failure()).toMatch(
    /^the connections to Kafka \(log\) have failed for \d+ s, although a new one works: wedged$/,
  );
  state.isOldCut = false;
  await eventually(() => monitor.failure() === null);
  monitor.stop();
  expect(state.disconnected).toBe(state.fresh);
});

test('brokers that answer on no connection need no restart', async () => {
  const { state, monitor } = monitoring();
  Object.assign(state, { isOldCut: true, isNewCut: true });
  await eventually(() => state.fresh > 50);
  expect(monitor.failure()).toBeNull();
  monitor.stop();
});
