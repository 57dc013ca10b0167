import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { mustRun } from '../../infra/dev-servers/native/run.ts';
import { rows } from '../../infra/monitoring/panels.ts';
import { dayMs } from '../../shared/documents/retention.ts';
import { generationsOf } from '../../shared/store/generations.ts';
import { writeCertificate } from '../api/requests.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { installPrometheus, startPrometheus } from './prometheus.ts';
import { useServices } from './use-services.ts';

type Rule = { alert?: string; expr: string; labels?: { severity?: string; service?: string } };

const readRules = (): Rule[] => {
  const { groups } = parse(readFileSync('infra/monitoring/alerts.yaml', 'utf8')) as {
    groups: { rules: Rule[] }[];
  };
  return groups.flatMap(({ rules }) => rules);
};

test('the rules pass their tests', async () => {
  const {
    promtool: [file = '', ...args],
  } = await installPrometheus();
  const output = await mustRun(file, [...args, 'test', 'rules', 'infra/monitoring/alerts.test.yaml']);
  expect(output).toContain('SUCCESS');
}, 300_000);

describe('with a Prometheus that scrapes the services', () => {
  const services = useServices();
  const { processes, publish, send, applied, cli, deleteRecords, startProcess } = services;
  let prometheus: Awaited<ReturnType<typeof startPrometheus>>;
  let rules: Rule[];

  beforeAll(async () => {
    rules = readRules();
    prometheus = await startPrometheus(join(processes.folder, 'prometheus'), await services.ports());
  }, 300_000);
  afterAll(() => prometheus.stop());

  /** The expression of an alert with seconds for minutes: a test cannot wait, and the scrapes are a second apart. */
  const exprOf = (alert: string, labels: Rule['labels'] = {}): string => {
    const isWanted = (rule: Rule) =>
      rule.alert === alert &&
      Object.entries(labels).every(([name, value]) => rule.labels?.[name as keyof typeof labels] === value);
    const expr = rules.find(isWanted)?.expr;
    if (expr === undefined) throw new Error(`there is no alert ${alert}`);
    return expr.replaceAll(/\[(\d+)m\]/g, '[$1s]');
  };
  const fires = async (expr: string) => (await prometheus.query(expr)).length > 0;
  /** The expression is false, then the failure happens, and the expression becomes true. Returns its series. */
  const sees = async (expr: string, cause: () => Promise<unknown>) => {
    expect(await prometheus.query(expr)).toEqual([]);
    await cause();
    await eventually(() => fires(expr), undefined, 250);
    return (await prometheus.query(expr)).map(({ metric }) => metric);
  };

  test('every query of the dashboard returns series', async () => {
    const queries = Object.values(rows).flatMap((row) =>
      row.flatMap((panel) => panel.queries.map(([expr]) => expr.replaceAll('$__rate_interval', '10s'))),
    );
    let empty = queries;
    // A rate needs two scrapes of a metric, and the recording rule needs a run.
    const secondsMax = 40;
    for (let seconds = 0; empty.length > 0 && seconds < secondsMax; seconds += 1) {
      await services.get('/v1/tickets');
      await publish(created('tag', 'tag_1', {}, 2 + seconds));
      const found = await Promise.all(empty.map(fires));
      empty = empty.filter((_, index) => !found[index]);
      await sleep(1_000);
    }
    expect(empty).toEqual([]);
    expect(queries.length).toBeGreaterThan(30);
  }, 240_000);

  test('every rule is evaluated, and no alert fires while all is well', async () => {
    await eventually(async () => (await prometheus.rules()).every(({ health }) => health === 'ok'));
    const firing = (await prometheus.rules()).filter(({ state }) => state === 'firing');
    expect(firing).toEqual([]);
    expect((await prometheus.rules()).length).toBe(rules.length);
  }, 240_000);

  test('a record that cannot be applied is seen as a dead letter with its reason', async () => {
    const series = await sees(exprOf('SupportDeadLetters', { severity: 'ticket' }), () =>
      send('tag', { key: 'tag_1', value: '{' }),
    );
    expect(series).toMatchObject([{ topic: services.topic('tag'), reason: 'not_json' }]);
    await applied();
  }, 240_000);

  test('a partition that an operator has paused is seen as stuck, with its cause, until it moves', async () => {
    const expr = exprOf('SupportPartitionStuck');
    const cause = 'projector_watermark_held_seconds{cause="pace"} > 0';
    expect(await prometheus.query(expr)).toEqual([]);
    expect(await cli('rebuild', 'pace', '1', '0')).toMatchObject({ code: 0 });
    // The projector reads its pace once a second, and may apply the first of these.
    const isStuck = async () => {
      await publish(created('contact', 'con_1'));
      return (await fires(expr)) && fires(cause);
    };
    await eventually(isStuck, services.fatal, 500);
    const series = (await prometheus.query(expr)).map(({ metric }) => metric);
    expect(series).toMatchObject([{ topic: services.topic('contact'), partition: '0', generation: '1' }]);
    await cli('rebuild', 'pace', '1', 'none');
    await applied();
    await eventually(async () => !(await fires(expr)) && !(await fires(cause)));
  }, 240_000);

  test('an event that is older than the watermark is seen as late', async () => {
    const old = { ...created('tag', 'tag_late'), time: new Date(Date.now() - 3_600_000) };
    const series = await sees(exprOf('SupportLateEvents'), () => publish(old));
    expect(series).toEqual([{ topic: services.topic('tag') }]);
  }, 240_000);

  test('a lag that was longer than Kafka keeps tombstones is seen', async () => {
    const longestBehindSeconds = (days: number) =>
      generationsOf(services.environment.control).updateOne(
        { _id: 'active' },
        { $set: { 'generations.0.longestBehindSeconds': days * 86_400 } },
      );
    const series = await sees(exprOf('SupportTombstonesMissed'), () => longestBehindSeconds(7));
    expect(series).toEqual([{ generation: '1' }]);
    await longestBehindSeconds(0);
  }, 240_000);

  test('a certificate that expires within days is seen, until it is renewed', async () => {
    const expr = exprOf('SupportCertificateExpires');
    await sees(expr, () => writeCertificate(processes.folder, new Date(Date.now() + 2 * dayMs)));
    await writeCertificate(processes.folder);
    await eventually(async () => !(await fires(expr)));
  }, 240_000);

  test('an API that cannot read MongoDB is seen, until it can', async () => {
    const expr = exprOf('SupportStoreErrors');
    await sees(expr, services.store.cut);
    await services.store.restore();
    await eventually(async () => !(await fires(expr)));
  }, 240_000);

  test('a rate limit that is not shared any more is seen', async () => {
    const expr = exprOf('SupportRateLimitNotShared');
    expect(await prometheus.query(expr)).toEqual([]);
    await processes.valkey.stop();
    await eventually(async () => {
      await services.get('/v1/tickets');
      return fires(expr);
    });
  }, 240_000);

  test('alerts see a stop of all projectors, and that archived keys may still work', async () => {
    // With an allowance of 5 seconds, data are never younger. A minute would be too long for a test.
    const late = exprOf('SupportKeyRevocationLate').replaceAll('> 60', '> 15');
    expect(await prometheus.query(late)).toEqual([]);
    await sees(exprOf('SupportServiceAbsent', { service: 'projector' }), () => processes.projector.stop());
    await eventually(() => fires(late), undefined, 250);
    expect(await prometheus.query(exprOf('SupportServiceAbsent', { service: 'api' }))).toEqual([]);
  }, 240_000);

  test('a gap in the log is seen by the API, after the projector that found it has exited', async () => {
    await sees(exprOf('SupportLogGap'), async () => {
      // given records that Kafka deletes while no projector runs
      for (const version of [100, 101, 102]) await publish(created('channel', 'chan_1', {}, version));
      await deleteRecords('channel', 2);
      const projector = startProcess();
      expect(await projector.exited).toBe(1);
      await projector.stop();
    });
  }, 240_000);
});
