import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { findKubernetes } from '../../infra/kubernetes/install.ts';
import { eventually } from '../support/eventually.ts';
import { useOpened } from '../support/use-opened.ts';
import { useChart, type Values } from './chart.ts';
import { openCluster, type HelmVersion } from './cluster.ts';
import { deployments, everything, required } from './example-values.ts';

/** The last released chart, as `helm package` made it. */
const released = 'tests/helm/released/support-read-models-1.0.0.tgz';
const kubernetes = findKubernetes();

type Deployment = { spec: { replicas: number } };
type Env = { env?: { name: string; value?: string }[] };
type Pods = { items: { metadata: { name: string }; spec: { containers: Env[] } }[] };

const why = 'missing' in kubernetes ? ` (skipped: ${kubernetes.missing})` : '';
(why ? describe.skip : describe)(`on a real API server${why}`, () => {
  const chart = useChart();
  const cluster = useOpened(() => openCluster('folder' in kubernetes ? kubernetes.folder : ''));

  /** Runs `helm` in a namespace, and returns its output. */
  const helmIn = (namespace: string, version: HelmVersion) => {
    const run = async (verb: string, ...args: string[]) =>
      cluster.helm(version, verb, ...args, '--namespace', namespace, '--timeout', '2m');
    const withValues =
      (verb: string, package_: string) =>
      (values: Values, args: string[] = []) =>
        run(verb, 'support', package_, '--values', cluster.valuesFile(values), ...args);
    return {
      installReleased: withValues('install', released),
      install: (values: Values) => withValues('install', cluster.chart)(values),
      upgrade: (values: Values, ...args: string[]) => withValues('upgrade', cluster.chart)(values, args),
      rollback: (revision: number, ...args: string[]) => run('rollback', 'support', `${revision}`, ...args),
      uninstall: () => run('uninstall', 'support'),
      test: () => run('test', 'support'),
      manifest: () => cluster.helm(version, 'get', 'manifest', 'support', '--namespace', namespace),
    };
  };
  const replicas = async (namespace: string, name = 'support-api') =>
    (await cluster.get<Deployment>('deployment', name, '--namespace', namespace)).spec.replicas;
  const podsOf = (namespace: string, component: string) =>
    cluster.get<Pods>('pods', '--namespace', namespace, '-l', `app.kubernetes.io/component=${component}`);

  const documented: [string, Values] = [
    'the documented values',
    parse(/```yaml\n(image:[^]*?)```/.exec(readFileSync('docs/kubernetes.md', 'utf8'))?.[1] ?? '') as Values,
  ];

  test.each([documented, ...deployments])(
    'it accepts %s strictly, without a warning and without a deprecated API',
    async (name, values) => {
      const namespace = `dry-${[documented, ...deployments].findIndex(([one]) => one === name)}`;
      await cluster.createNamespace(namespace);
      await cluster.kubectl('create', 'serviceaccount', 'support', '--namespace', namespace);
      const file = cluster.manifestsFile(await chart.template(values, { namespace }));
      const options = ['--server-side', '--dry-run=server', '--validate=strict', '--force-conflicts'];
      const output = await cluster.kubectl('apply', ...options, '--namespace', namespace, '-f', file);
      expect(output).not.toMatch(/warning/i);
      const metrics = await cluster.kubectl('get', '--raw', '/metrics');
      const deprecated = metrics.match(/^apiserver_requested_deprecated_apis\{.*\} 1$/gm) ?? [];
      expect(deprecated.filter((line) => !line.includes('group=""'))).toEqual([]);
    },
  );

  describe.each<HelmVersion>([3, 4])('Helm %d', (version) => {
    test('upgrades the released chart, turns every option on, rolls back to both, and leaves nothing', async () => {
      const namespace = `helm${version}-upgrade`;
      const {
        installReleased,
        upgrade,
        rollback,
        uninstall,
        manifest,
        test: check,
      } = helmIn(namespace, version);
      await cluster.createNamespace(namespace);
      const printed = [
        await installReleased(required),
        await upgrade(required, '--wait'),
        await check(),
        await upgrade(everything),
        await rollback(2),
        await upgrade({ ...required, image: { tag: '1.0.1' } }),
        await rollback(1),
        await upgrade(required),
      ];
      expect(printed.join('')).not.toMatch(/warn/i);
      const file = cluster.manifestsFile(await manifest());
      const diff = ['--server-side', '--force-conflicts', '--namespace', namespace, '-f', file];
      expect(await cluster.kubectl('diff', ...diff)).toBe('');
      await uninstall();
      const kinds =
        'deploy,svc,cm,secret,sa,job,cronjob,pdb,hpa,ing,netpol,scaledobject,servicemonitor,prometheusrule,httproute';
      await eventually(async () => {
        const left = await cluster.kubectl('get', kinds, '--namespace', namespace, '--output', 'name');
        const own = left
          .split('\n')
          .filter((name) => name && !/kube-root-ca|serviceaccount\/default/.test(name));
        return own.length === 0 || own;
      });
    });

    test('switching the autoscaler on and off keeps the running replicas, and so do upgrades meanwhile', async () => {
      const namespace = `helm${version}-scaling`;
      const { install, upgrade, rollback } = helmIn(namespace, version);
      await cluster.createNamespace(namespace);
      const scaled = (enabled: boolean, count = 3): Values => ({
        ...required,
        api: { ...required.api, replicas: count, autoscaling: { enabled, minReplicas: 2 } },
      });
      await install(scaled(false));
      const seen = [await replicas(namespace)];
      const generation = async () =>
        (
          await cluster.kubectl(
            'get',
            'deployment',
            'support-api',
            '--namespace',
            namespace,
            '--output',
            'jsonpath={.metadata.generation}',
          )
        ).trim();
      const before = await generation();
      await upgrade(scaled(true));
      seen.push(await replicas(namespace));
      // It has not changed for a moment either.
      expect(await generation()).toBe(before);
      await cluster.kubectl('scale', 'deployment', 'support-api', '--replicas=5', '--namespace', namespace);
      await upgrade(scaled(true));
      seen.push(await replicas(namespace));
      // Helm 4 applies on the server, where the autoscaler owns the number, as `kubectl scale` does here.
      const force = version === 4 ? ['--force-conflicts'] : [];
      if (version === 4) await expect(rollback(2)).rejects.toThrow(/conflict/);
      await rollback(2, ...force);
      seen.push(await replicas(namespace));
      await upgrade(scaled(false, 4), ...force);
      seen.push(await replicas(namespace));
      expect(seen).toEqual([3, 3, 5, 3, 4]);
    });

    test('a refused upgrade and a refused rollback change nothing', async () => {
      const namespace = `helm${version}-refused`;
      const { install, upgrade, rollback } = helmIn(namespace, version);
      await cluster.createNamespace(namespace);
      await install(required);
      await upgrade({ ...required, api: { ...required.api, replicas: 3 } });
      cluster.kubelet.fails = true;
      try {
        await expect(upgrade({ ...required, api: { ...required.api, replicas: 4 } })).rejects.toThrow(
          /pre-upgrade/,
        );
        await expect(rollback(1)).rejects.toThrow(/support-upgrade-check/);
      } finally {
        cluster.kubelet.fails = false;
      }
      expect(await replicas(namespace)).toBe(3);
      const log = await cluster.get<{
        spec: { template: { spec: { containers: { command: string[] }[] } } };
      }>(...['job', 'support-upgrade-check', '--namespace', namespace]);
      expect(log.spec.template.spec.containers[0]?.command).toEqual(['support-cli', 'rebuild', 'keeps', '1']);
    });

    test('a removed secret goes, and a Job of the topics that failed starts again with the next upgrade', async () => {
      const namespace = `helm${version}-jobs`;
      const { install, upgrade } = helmIn(namespace, version);
      await cluster.createNamespace(namespace);
      const secrets = { ...required.projector.secrets, KAFKA_SASL_PASSWORD: 'old' };
      const values = { ...required, topics: { create: true } };
      cluster.kubelet.fails = true;
      await install({ ...values, projector: { secrets } });
      const jobs = async () =>
        (await cluster.kubectl('get', 'jobs', '--namespace', namespace, '--output', 'name')).match(
          /\S+topics\S+/g,
        );
      const [job = ''] = (await jobs()) ?? [];
      const conditions = ['FailureTarget', 'Failed'].map((type) => ({
        type,
        status: 'True',
        reason: 'BackoffLimitExceeded',
      }));
      const patch = JSON.stringify({ spec: { backoffLimit: 0 } });
      await cluster.kubectl('patch', job, '--namespace', namespace, '--patch', patch);
      await eventually(async () =>
        (await cluster.kubectl('get', job, '--namespace', namespace, '--output', 'json')).includes(
          `"type": "${conditions[1]?.type}"`,
        ),
      );
      cluster.kubelet.fails = false;
      await upgrade(values);
      const keys = await cluster.get<{ data: object }>(
        'secret',
        'support-projector',
        '--namespace',
        namespace,
      );
      expect(Object.keys(keys.data)).toEqual(['MONGODB_URL']);
      expect(await jobs()).toEqual([expect.stringContaining(`${job.replace(/^job.batch\//, '')}-r2`)]);
    });
  });

  test('a wrong setting breaks the new pods alone: a replacement of an old one has the old settings', async () => {
    const namespace = 'wrong-setting';
    const { install, upgrade } = helmIn(namespace, 3);
    await cluster.createNamespace(namespace);
    await install(required);
    await eventually(async () => (await podsOf(namespace, 'api')).items.length === 2);
    const old = new Set((await podsOf(namespace, 'api')).items.map(({ metadata }) => metadata.name));
    cluster.kubelet.readies = false;
    try {
      await upgrade({ ...required, settings: { ...required.settings, LOG_LEVEL: 'wrong' } });
      const [first = ''] = old;
      await cluster.kubectl('delete', 'pod', first, '--namespace', namespace);
      const isWrong = ({ spec }: Pods['items'][number]) =>
        spec.containers[0]?.env?.some(({ value }) => value === 'wrong');
      await eventually(async () => {
        const { items } = await podsOf(namespace, 'api');
        const replacements = items.filter(({ metadata }) => !old.has(metadata.name));
        const wrong = replacements.filter(isWrong).length;
        // One pod is the rollout's surge, the other replaces the deleted one.
        return (
          (wrong === 1 && replacements.length === 2) || replacements.map(({ metadata }) => metadata.name)
        );
      });
    } finally {
      cluster.kubelet.readies = true;
    }
  });

  test('a drain may evict the replicas while none of them is ready', async () => {
    const namespace = 'eviction';
    cluster.kubelet.readies = false;
    try {
      await cluster.createNamespace(namespace);
      await helmIn(namespace, 3).install(required);
      await eventually(async () => (await podsOf(namespace, 'api')).items.length === 2);
      const { items } = await podsOf(namespace, 'api');
      // The budget is known once the controller has counted the pods.
      await eventually(
        async () =>
          (await cluster.kubectl(
            'get',
            'pdb',
            'support-api',
            '--namespace',
            namespace,
            '--output',
            'jsonpath={.status.expectedPods}',
          )) === '2',
      );
      for (const { metadata } of items) {
        const eviction = {
          apiVersion: 'policy/v1',
          kind: 'Eviction',
          metadata: { name: metadata.name, namespace },
        };
        const file = cluster.manifestsFile(JSON.stringify(eviction));
        await cluster.kubectl(
          'create',
          '--raw',
          `/api/v1/namespaces/${namespace}/pods/${metadata.name}/eviction`,
          '-f',
          file,
        );
      }
    } finally {
      cluster.kubelet.readies = true;
    }
  });
});
