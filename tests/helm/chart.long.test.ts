import { apiSettings } from '../../services/api/config.ts';
import { cliSettings } from '../../services/cli/config.ts';
import { consoleSettings } from '../../services/console/config.ts';
import { projectorConfig, projectorSettings } from '../../services/projector/config.ts';
import { groupIdOf } from '../../shared/control/generations.ts';
import { variableNames } from '../../shared/runtime/config.ts';
import {
  containerOf,
  type Manifest,
  named,
  parseManifests,
  podOf,
  useChart,
  type Values,
  variablesOf,
} from './chart.ts';
import { deployments, everything, password, required, twoGenerations } from './example-values.ts';

const chart = useChart();

const render = async (values: Values) => parseManifests(await chart.template(values));

const pods = (manifests: Manifest[]) => manifests.map(podOf).filter((pod) => pod !== undefined);

const networkPolicies = async (values: Values) => {
  const manifests = await render(values);
  return manifests.filter(({ kind }) => kind === 'NetworkPolicy');
};

/** The settings of the services, and variables of the system that the values of an example add. */
const allowedVariables = new Set([
  ...[projectorSettings, apiSettings, cliSettings, consoleSettings].flatMap(variableNames),
  'NODE_EXTRA_CA_CERTS',
  'TZ',
]);

/** The variables of all containers and the keys of all Secrets. */
function variableNamesIn(manifests: Manifest[]): string[] {
  const names: string[] = [];
  for (const { kind, data = {} } of manifests) {
    if (kind === 'Secret') names.push(...Object.keys(data));
  }
  const containers = pods(manifests).flatMap(({ spec }) => spec.containers);
  for (const { env = [] } of containers) names.push(...env.map(({ name }) => name));
  return names;
}

describe.each(deployments)('with %s', (_, values) => {
  test('the chart passes the linter of Helm and the schemas of Kubernetes', async () => {
    expect(await chart.lint(values)).toMatchObject({ ok: true });
    const { ok, output } = await chart.conform(await chart.template(values));
    expect({ ok, output }).toEqual({
      ok: true,
      output: expect.stringMatching(/Invalid: 0, Errors: 0, Skipped: 0/) as unknown,
    });
  });

  test('every container runs without privileges on a read-only root file system', async () => {
    const allPods = pods(await render(values));
    expect(allPods.length).toBeGreaterThan(2);
    for (const { spec } of allPods) {
      expect(spec).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      });
      for (const container of spec.containers)
        expect(container).toMatchObject({
          resources: { limits: { memory: expect.any(String) as string } },
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        });
    }
  });

  test('every container of the chart shows the cause of its end in its state', async () => {
    const manifests = await render(values);
    const containers = manifests.map(containerOf).filter((container) => container !== undefined);
    const policies = containers.map(({ terminationMessagePolicy }) => terminationMessagePolicy);
    expect(new Set(policies)).toEqual(new Set(['FallbackToLogsOnError']));
  });

  test('every variable is a setting, and only Secrets contain secrets', async () => {
    const manifests = await render(values);
    const names = variableNamesIn(manifests);
    expect(names.filter((name) => !allowedVariables.has(name))).toEqual([]);
    const otherManifests = manifests.filter(({ kind }) => kind !== 'Secret');
    expect(JSON.stringify(otherManifests)).not.toContain(password);
    const api = named(manifests, 'Deployment', 'support-api');
    expect(JSON.stringify(api)).not.toMatch(/support-projector|support-cli/);
  });
});

test('each generation has its own Deployment, release and consumer group', async () => {
  const manifests = await render(twoGenerations);
  const [old, next] = [1, 2].map((number) => named(manifests, 'Deployment', `support-projector-g${number}`));
  const generations = [old, next].map((deployment) => {
    const result = projectorConfig({ ...variablesOf(deployment), MONGODB_URL: 'mongodb://m/' });
    if ('errors' in result) throw new Error(result.errors.join());
    const image = containerOf(deployment)?.image;
    return { image, group: groupIdOf(result.config, result.config.GENERATION ?? 0) };
  });
  expect(generations).toEqual([
    { image: 'support-read-models:1.0.0', group: 'support-read-models' },
    { image: 'support-read-models:2.0.0', group: 'support-read-models_g2' },
  ]);
  expect(old?.spec?.selector).not.toEqual(next?.spec?.selector);
});

const longDelay = { ...required.settings, SHUTDOWN_DELAY_SECONDS: 90 };
const noDelay = { ...required.api.settings, SHUTDOWN_DELAY_SECONDS: 0 };

test.each([
  ['the default delay', required, 5],
  ['a delay of a minute', everything, 60],
  ['a delay for all services', { ...required, settings: longDelay }, 90],
  ['no delay', { ...required, api: { ...required.api, settings: noDelay } }, 0],
])('with %s Kubernetes does not kill a service that is still stopping', async (_, values, delaySeconds) => {
  const manifests = await render(values);
  const grace = (name: string) => {
    const pod = podOf(named(manifests, 'Deployment', name));
    return pod?.spec.terminationGracePeriodSeconds;
  };
  // A service closes its parts one after another. These are the sums of their deadlines.
  expect(grace('support-api')).toBeGreaterThanOrEqual(delaySeconds + 27);
  expect(grace('support-projector-g1')).toBeGreaterThan(30);
});

test('a replica leaves its Service within the delay of the stop', async () => {
  // One failed check suffices, and the checks are two seconds apart.
  const api = named(await render(required), 'Deployment', 'support-api');
  expect(containerOf(api)?.readinessProbe).toEqual({
    httpGet: { path: '/readyz', port: 'admin' },
    periodSeconds: 2,
    timeoutSeconds: 4,
    failureThreshold: 1,
  });
});

test.each(['projector', 'api'])('Prometheus reads the metrics of a %s that is not ready', async (name) => {
  const admin = named(await render(required), 'Service', `support-${name}-admin`);
  expect(admin?.spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true });
});

test('no peer may reach the admin port if the values name no peer', async () => {
  const policies = await networkPolicies({ ...required, networkPolicy: { metrics: [] } });
  expect(policies).toHaveLength(3);
  expect(JSON.stringify(policies)).not.toContain('admin');
});

test('every pod may reach only the collector and the servers that it uses', async () => {
  const portsOf: Record<string, number[]> = {};
  for (const { metadata, spec } of await networkPolicies(required)) {
    // The first rule is for DNS.
    const [, servers] = spec?.egress as [unknown, { ports: { port: number }[] }];
    portsOf[metadata.name] = servers.ports.map(({ port }) => port);
  }
  expect(portsOf).toEqual({
    'support-projector': [27017, 9092, 9093, 4318],
    'support-api': [27017, 6379, 4318],
    'support-cli': [27017, 9092, 9093, 4318],
  });
});

test('a pod may not connect to a server whose list of ports is empty', async () => {
  const egress = async (networkPolicy: Values) => {
    const policies = await networkPolicies({ ...required, networkPolicy });
    return policies.map(({ spec }) => ({ types: spec?.policyTypes, rules: spec?.egress }));
  };
  const types = ['Ingress', 'Egress'];
  const collector = { types, rules: [{ ports: [{ port: 4318 }] }] };
  const none = { dns: [], mongodb: [], kafka: [], rateLimitStore: [] };
  expect(await egress({ ports: none })).toEqual([collector, collector, collector]);
  const nowhere = { types, rules: undefined };
  expect(await egress({ ports: { ...none, collector: [] } })).toEqual([nowhere, nowhere, nowhere]);
});

test('a changed setting or secret restarts only the pods that read it', async () => {
  const before = await podTemplates(required);
  /** The names of the Deployments whose pods these values restart, in the order of the alphabet. */
  const restartedBy = async (values: Values) => {
    const after = await podTemplates({ ...required, ...values });
    const names = [...before.keys()].sort();
    return names.filter((name) => after.get(name) !== before.get(name));
  };
  const { api, projector, settings } = required;
  expect(await restartedBy({})).toEqual([]);
  const debugLog = { settings: { ...settings, LOG_LEVEL: 'debug' } };
  expect(await restartedBy(debugLog)).toEqual(['support-api', 'support-cli', 'support-projector-g1']);
  const brand = { api: { ...api, settings: { ...api.settings, BRAND: 'acme' } } };
  expect(await restartedBy(brand)).toEqual(['support-api']);
  const secrets = { MONGODB_URL: 'mongodb://projector:another@mongo/' };
  expect(await restartedBy({ projector: { ...projector, secrets } })).toEqual(['support-projector-g1']);
});

/** The pod template of each Deployment, by its name. */
async function podTemplates(values: Values): Promise<Map<string, string>> {
  const templates = new Map<string, string>();
  for (const manifest of await render(values)) {
    if (manifest.kind === 'Deployment')
      templates.set(manifest.metadata.name, JSON.stringify(podOf(manifest)));
  }
  return templates;
}

test('the template of a pod contains all settings', async () => {
  // The replacement of an old pod therefore has the old settings.
  const manifests = await render({
    ...required,
    settings: { ...required.settings, LOG_LEVEL: 'warn', TOPIC_PREFIX: 'a$(HOME)$$.' },
    env: [{ name: 'LOG_LEVEL', value: 'debug' }],
  });
  expect(manifests.filter(({ kind }) => kind === 'ConfigMap')).toEqual([]);
  for (const { spec } of pods(manifests))
    expect(JSON.stringify(spec.containers[0]?.envFrom)).not.toContain('configMapRef');
  const api = named(manifests, 'Deployment', 'support-api');
  const env = containerOf(api)?.env ?? [];
  // Kubernetes reads $$ as $, and would replace $(HOME).
  expect(env).toContainEqual({ name: 'TOPIC_PREFIX', value: 'a$$(HOME)$$$$.' });
  expect(env.filter(({ name }) => name === 'LOG_LEVEL')).toEqual([{ name: 'LOG_LEVEL', value: 'debug' }]);
  const names = env.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test('a Secret contains its exact texts as data', async () => {
  // Kubernetes would keep a key that was removed from stringData.
  const secret = named(await render(required), 'Secret', 'support-projector');
  expect(secret).not.toHaveProperty('stringData');
  const { MONGODB_URL = '' } = secret?.data ?? {};
  expect(Buffer.from(MONGODB_URL, 'base64').toString()).toBe(required.projector.secrets.MONGODB_URL);
});

test('every container has the additional files and variables of the values', async () => {
  const allPods = pods(await render(everything));
  expect(allPods.length).toBeGreaterThan(4);
  for (const { metadata, spec } of allPods) {
    expect(metadata.annotations).toMatchObject({ 'sidecar.istio.io/inject': 'false' });
    const isApi = metadata.labels['app.kubernetes.io/component'] === 'api';
    expect(spec.affinity).toEqual(isApi ? { podAntiAffinity: {} } : { nodeAffinity: {} });
    const [container] = spec.containers;
    const files = container?.volumeMounts?.map(({ mountPath }) => mountPath);
    const additional = ['/etc/ca', '/etc/mongodb'];
    expect(files).toEqual(isApi ? ['/etc/tls', ...additional] : additional);
    expect(container?.env).toEqual(
      expect.arrayContaining([
        { name: 'NODE_EXTRA_CA_CERTS', value: '/etc/ca/ca.crt' },
        { name: 'TZ', value: 'UTC' },
      ]),
    );
  }
});

test('the services get the variables that follow from the values', async () => {
  const manifests = await render(everything);
  expect(variablesOf(named(manifests, 'Deployment', 'support-cli'))).toMatchObject({
    DEPLOYMENT: 'helm',
    OPERATOR: 'ann',
  });
  expect(variablesOf(named(manifests, 'Deployment', 'support-api'))).toMatchObject({
    API_CONNECTIONS_MAX: '1000000',
    SHUTDOWN_DELAY_SECONDS: '60',
    API_BASE_URL: 'https://api.example.com',
    API_PORT: '8080',
  });
});
