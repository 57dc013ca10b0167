import { named, parseManifests, podOf, useChart, type Values } from './chart.ts';
import { everything, required } from './example-values.ts';

const chart = useChart();

const render = async (values: Values) => parseManifests(await chart.template(values));

test.each(['support-api', 'support-projector-g1'])(
  'the replicas of %s are spread over nodes, and over zones if the operator asks; a rollout counts only its own pods',
  async (name) => {
    const spread = async (values: object) => {
      const deployment = named(await render({ ...required, ...values }), 'Deployment', name);
      const component = podOf(deployment)?.metadata.labels['app.kubernetes.io/component'];
      const constraints = podOf(deployment)?.spec.topologySpreadConstraints ?? [];
      for (const constraint of constraints)
        expect(constraint).toMatchObject({
          maxSkew: 1,
          whenUnsatisfiable: 'ScheduleAnyway',
          matchLabelKeys: ['pod-template-hash'],
          labelSelector: { matchLabels: { 'app.kubernetes.io/component': component } },
        });
      return constraints.map(({ topologyKey }) => topologyKey);
    };
    expect(await spread({})).toEqual(['kubernetes.io/hostname']);
    expect(await spread({ spreadOverZones: true })).toEqual([
      'kubernetes.io/hostname',
      'topology.kubernetes.io/zone',
    ]);
  },
);

test('the budget lets a drain evict replicas that are not ready, and takes either of its limits', async () => {
  const budget = async (values: object) => {
    const api = { ...required.api, podDisruptionBudget: values };
    return named(await render({ ...required, api }), 'PodDisruptionBudget', 'support-api')?.spec;
  };
  const common = { unhealthyPodEvictionPolicy: 'AlwaysAllow', selector: expect.anything() as unknown };
  expect(await budget({})).toEqual({ ...common, maxUnavailable: 1 });
  expect(await budget({ minAvailable: '50%' })).toEqual({ ...common, minAvailable: '50%' });
  expect(await budget({ minAvailable: 0 })).toEqual({ ...common, minAvailable: 0 });
});

test('the manifests set replicas only if neither KEDA nor the autoscaler decides on them', async () => {
  const manifests = await render(everything);
  const deployments = manifests.filter(({ kind }) => kind === 'Deployment');
  expect(
    Object.fromEntries(deployments.map(({ metadata, spec }) => [metadata.name, spec?.replicas])),
  ).toEqual({
    'support-api': undefined,
    'support-projector-g1': 2,
    'support-projector-g2': undefined,
    'support-cli': 1,
    'support-console': 1,
  });
});

test('KEDA reads the lag of this release alone, and scales nothing down while Prometheus does not answer', async () => {
  const scaled = (await render(everything)).filter(({ kind }) => kind === 'ScaledObject');
  const metrics = 'namespace="prod",service="support-projector-admin",pod=~"support-projector-g2-.+"';
  expect(scaled.map(({ spec }) => spec)).toEqual([
    expect.objectContaining({
      scaleTargetRef: { name: 'support-projector-g2' },
      minReplicaCount: 1,
      maxReplicaCount: 6,
      fallback: { failureThreshold: 3, replicas: 1, behavior: 'currentReplicasIfHigher' },
      triggers: [
        {
          type: 'prometheus',
          metadata: {
            serverAddress: 'http://prometheus-operated.monitoring:9090',
            query: `max(projector_lag_seconds{${metrics}})`,
            threshold: '30',
            ignoreNullValues: 'false',
          },
        },
      ],
    }),
  ]);
});

describe('Jobs', () => {
  const topicsJob = async (values: Values) => named(await render(values), 'Job', 'support-topics');

  test('the Job of the topics waits hours for the brokers, and keeps the log of each attempt', async () => {
    const topics = { create: true, partitions: 12, replicationFactor: 3, minInsyncReplicas: 2 };
    const job = await topicsJob({ ...required, topics });
    expect(job?.spec).toMatchObject({ backoffLimit: 30, template: { spec: { restartPolicy: 'Never' } } });
    expect(podOf(job)?.spec.containers[0]?.command).toEqual([
      ...['support-cli', 'topics', 'create', '--partitions', '12'],
      ...['--replication-factor', '3', '--min-insync-replicas', '2'],
    ]);
  });

  test('no name of an object depends on the image or the settings: Helm cannot roll back from other names', async () => {
    const names = async (values: Values) =>
      (await render({ ...required, topics: { create: true }, ...values })).map(
        ({ kind, metadata }) => `${kind}/${metadata.name}`,
      );
    const before = await names({});
    expect(await names({ image: { tag: '2.0.0' } })).toEqual(before);
    expect(await names({ settings: { KAFKA_BROKERS: 'other:9092' } })).toEqual(before);
    expect(await names({ topics: { create: true, partitions: 12 } })).toEqual(before);
    expect(await names({ podLabels: { team: 'support' } })).toEqual(before);
  });

  test('the checks before an upgrade and a rollback are two Jobs, whose log Helm prints if they fail', async () => {
    const checks = (await render(required)).filter(
      ({ kind, metadata }) => kind === 'Job' && metadata.annotations,
    );
    expect(checks.map(({ metadata }) => [metadata.name, metadata.annotations])).toEqual(
      ['upgrade', 'rollback'].map((event) => [
        `support-${event}-check`,
        {
          'helm.sh/hook': `pre-${event}`,
          'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
          'helm.sh/hook-output-log-policy': 'hook-failed',
        },
      ]),
    );
  });

  test('the checks count a generation only if it has projectors', async () => {
    const command = async (...counts: number[]) => {
      const generations = counts.map((replicas, index) => ({ number: index + 1, replicas, maxReplicas: 3 }));
      const manifests = await render({ ...required, generations });
      return podOf(named(manifests, 'Job', 'support-upgrade-check'))?.spec.containers[0]?.command;
    };
    expect(await command(2, 1)).toEqual(['support-cli', 'rebuild', 'keeps', '1', '2']);
    expect(await command(2, 0)).toEqual(['support-cli', 'rebuild', 'keeps', '1']);
    expect(await command(0)).toEqual(['support-cli', 'rebuild', 'keeps']);
  });

  describe('given volumes and variables from objects that the values may make', () => {
    const source = { name: 'new' };
    const values = {
      ...everything,
      extraVolumes: [
        { name: 'secret', secret: { secretName: 'new' } },
        { name: 'settings', configMap: source },
        { name: 'both', projected: { sources: [{ secret: source }, { configMap: source }] } },
        { name: 'scratch', emptyDir: {} },
      ],
      extraEnvFrom: [{ secretRef: source }, { configMapRef: source, prefix: 'A_' }],
      env: [
        { name: 'A', value: 'a' },
        { name: 'B', valueFrom: { secretKeyRef: { name: 'new', key: 'b' } } },
        { name: 'C', valueFrom: { configMapKeyRef: { name: 'new', key: 'c' } } },
        { name: 'D', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ],
    };
    const optional = { name: 'new', optional: true };
    let text = '';
    beforeAll(async () => {
      text = await chart.template(values);
    });
    const specOf = (kind: string, name: string) => podOf(named(parseManifests(text), kind, name))?.spec;

    test('the manifests conform to the schemas of Kubernetes', async () => {
      const { ok, output } = await chart.conform(text);
      expect({ ok, output }).toMatchObject({ ok: true });
    });

    test.each(['upgrade', 'rollback'])('the %s check waits for none of these objects', (event) => {
      const spec = specOf('Job', `support-${event}-check`);
      expect(spec).not.toHaveProperty('initContainers');
      expect(spec).toMatchObject({
        volumes: [
          { name: 'ca', secret: { secretName: 'private-ca', defaultMode: 0o440, optional: true } },
          { name: 'secret', secret: { secretName: 'new', optional: true } },
          { name: 'settings', configMap: optional },
          { name: 'both', projected: { sources: [{ secret: optional }, { configMap: optional }] } },
          { name: 'scratch', emptyDir: {} },
        ],
      });
      const container = spec?.containers[0];
      expect(container?.envFrom).toEqual([
        { secretRef: { name: 'support-cli', optional: true } },
        { secretRef: optional },
        { configMapRef: optional, prefix: 'A_' },
      ]);
      expect(container?.env?.slice(-4)).toEqual([
        { name: 'A', value: 'a' },
        { name: 'B', valueFrom: { secretKeyRef: { ...optional, key: 'b' } } },
        { name: 'C', valueFrom: { configMapKeyRef: { ...optional, key: 'c' } } },
        { name: 'D', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ]);
    });

    test('`helm test` waits for all of them', () => {
      const spec = specOf('Pod', 'support-check');
      expect(spec).toHaveProperty('initContainers');
      expect(JSON.stringify(spec)).not.toContain('optional');
    });
  });

  test('a drain fails neither Job, and the weekly Job ends after a day', async () => {
    const manifests = await render({ ...everything, verify: { timeZone: 'Europe/Berlin' } });
    const verify = named(manifests, 'CronJob', 'support-verify');
    const ignored = {
      rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
    };
    expect(verify?.spec).toMatchObject({
      timeZone: 'Europe/Berlin',
      startingDeadlineSeconds: 3600,
      jobTemplate: { spec: { backoffLimit: 0, activeDeadlineSeconds: 86_400, podFailurePolicy: ignored } },
    });
    const topics = await topicsJob(everything);
    expect(topics?.spec).toMatchObject({ podFailurePolicy: ignored });
  });
});
