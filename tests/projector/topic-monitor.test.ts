import { pino } from 'pino';
import { createMetrics, type Metrics } from '../../services/projector/metrics.ts';
import { monitorTopics } from '../../services/projector/topic-monitor.ts';
import { generationOf } from '../../shared/control/generations.ts';
import { requireRegistry } from '../../shared/control/registry.ts';
import { createLogClient } from '../../shared/kafka/log-client.ts';
import { created } from '../support/entities.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';

type Finding = { name: string; text: string; fix: string | null; accept: string | null };

/*
 * A topic may lose records that a rebuild needs long after the start: an operator changes a setting, then retention
 * deletes records that the read model has applied. No projector stops, and every rebuild would lack these records.
 */
describe('a topic that loses applied records', () => {
  // Jest runs hooks in the order of their definition: the monitor ends before the tests leave its servers.
  afterEach(() => close());
  const projector = useProjector({ each: true });
  const { environment, topic, publish, applied, cli, alterTopic, deleteRecords } = projector;
  let close: () => Promise<void>;
  let metrics: Metrics;
  /** A second monitor beside the projector's own, which reads the topics all the time. */
  beforeEach(async () => {
    const { kafka, admin, control, topics } = environment;
    const log = createLogClient(kafka);
    await log.connect();
    metrics = createMetrics();
    const generation = generationOf(await requireRegistry(control), 1);
    const logger = pino({ level: 'silent' });
    const monitoring = monitorTopics({ admin, log, topics, generation, metrics, logger }, 50);
    close = async () => {
      await monitoring.stop();
      await log.disconnect();
    };
  });
  /** The topics that the metric shows as losing records, each with a reason. */
  const losses = async () => {
    const { values } = await metrics.losesRecords.get();
    const losing = values.filter(({ value }) => value === 1);
    return losing.map(({ labels }) => `${String(labels.topic)} ${String(labels.reason)}`).toSorted();
  };
  const lossesBecome = (isExpected: (seen: string[]) => boolean) =>
    eventually(async () => {
      const seen = await losses();
      return isExpected(seen) || notYet(seen);
    });
  /** The findings of the status with these names. */
  const findingsNamed = async (...names: string[]) => {
    const { findings } = JSON.parse(await projector.status('--json')) as { findings: Finding[] };
    return findings.filter(({ name }) => names.includes(name));
  };

  test('is in the status and the metric until an operator corrects its settings', async () => {
    await publish(created('tag', 'tag_1'), created('tag', 'tag_2'));
    await applied();
    expect(await findingsNamed('topics', 'log-beginnings')).toEqual([]);
    expect(await losses()).toEqual([]);
    const kept = { 'delete.retention.ms': '604800000' };
    const unsafe = { 'retention.ms': '86400000', 'unclean.leader.election.enable': 'true' };
    await alterTopic('tag', { ...kept, ...unsafe, 'cleanup.policy': 'compact,delete' });
    await lossesBecome((seen) => seen.length === 2);
    expect(await losses()).toEqual([`${topic('tag')} retention`, `${topic('tag')} unclean_election`]);
    const [retention, election] = await findingsNamed('topics');
    expect(retention?.text).toContain(`${topic('tag')}: deletes records after 1 day (retention.ms=86400000)`);
    expect(retention?.fix).toMatch(/--entity-name \S+tags --add-config cleanup\.policy=compact$/);
    expect(election?.fix).toMatch(/--add-config unclean\.leader\.election\.enable=false$/);
    await alterTopic('tag', { ...kept, 'cleanup.policy': 'compact' });
    await lossesBecome((seen) => seen.length === 0);
    expect(await findingsNamed('topics')).toEqual([]);
  });

  test('is in the status and the metric until an operator accepts the loss of records', async () => {
    await publish(created('tag', 'tag_1'), created('tag', 'tag_2'));
    await applied();
    await deleteRecords('tag', 1);
    await lossesBecome((seen) => seen.includes(`${topic('tag')} truncated`));
    const [lost] = await findingsNamed('log-beginnings');
    expect(lost?.text).toContain(`the log of ${topic('tag')}/0 begins at offset 1, not 0`);
    expect(lost?.accept).toBe('npx support-cli accept truncated 1 --why <reason>');
    // `rebuild start` refuses a build without these records until an operator accepts the loss.
    await alterTopic('tag', { 'cleanup.policy': 'compact', 'delete.retention.ms': '604800000' });
    expect((await cli('rebuild', 'start')).text).toContain('accept it: npx support-cli accept truncated 1');
    expect(await cli('accept', 'truncated', '--why', 'tests')).toMatchObject({ code: 0 });
    expect(await cli('rebuild', 'start')).toMatchObject({ code: 0 });
    expect(await findingsNamed('log-beginnings')).toEqual([]);
  });

  test('is found although another topic was deleted', async () => {
    await environment.admin.deleteTopics({ topics: [topic('qa')] });
    await alterTopic('tag', { 'cleanup.policy': 'delete' });
    await lossesBecome((seen) => seen.includes(`${topic('tag')} not_compacted`));
  });
});
