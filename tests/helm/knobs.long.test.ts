import { containerOf, named, parseManifests, podOf, useChart, type Values, variablesOf } from './chart.ts';
import { everything, required } from './example-values.ts';

const chart = useChart();

const render = async (values: Values) => parseManifests(await chart.template(values));

test('an image has the common registry and digest unless its generation has a tag', async () => {
  const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
  const image = { registry: 'mirror.example.com', digest };
  const generations = [
    { number: 1, replicas: 1, image: { tag: '1.0.0' } },
    { number: 2, replicas: 1 },
  ];
  const manifests = await render({ ...required, image, generations });
  const deployments = ['support-projector-g1', 'support-projector-g2', 'support-api'];
  const images = deployments.map((name) => containerOf(named(manifests, 'Deployment', name))?.image);
  const repository = 'mirror.example.com/support-read-models';
  expect(images).toEqual([`${repository}:1.0.0`, `${repository}@${digest}`, `${repository}@${digest}`]);
});

test('a component may reset a value of all pods', async () => {
  const reset = {
    affinity: {},
    tolerations: [],
    env: [],
    podLabels: {},
    priorityClassName: '',
    minReadySeconds: 0,
  };
  const manifests = await render({
    ...everything,
    minReadySeconds: 9,
    revisionHistoryLimit: 0,
    api: { ...everything.api, ...reset, revisionHistoryLimit: 2 },
  });
  const fieldsOf = (name: string) => {
    const deployment = named(manifests, 'Deployment', name);
    const pod = podOf(deployment);
    if (!deployment || !pod) throw new Error(`there is no Deployment ${name}`);
    const env = containerOf(deployment)?.env ?? [];
    return {
      labels: Object.keys(pod.metadata.labels).filter((label) => label.startsWith('azure')),
      timeZones: env.filter((variable) => variable.name === 'TZ').length,
      ...pick(pod.spec, 'affinity', 'tolerations', 'priorityClassName'),
      ...pick(deployment.spec, 'minReadySeconds', 'revisionHistoryLimit'),
    };
  };
  expect(fieldsOf('support-api')).toEqual({ labels: [], timeZones: 0, revisionHistoryLimit: 2 });
  expect(fieldsOf('support-projector-g1')).toEqual({
    labels: ['azure.workload.identity/use'],
    timeZones: 1,
    affinity: everything.affinity,
    tolerations: everything.tolerations,
    priorityClassName: everything.priorityClassName,
    minReadySeconds: 9,
    revisionHistoryLimit: 0,
  });
});

const pick = (fields: object = {}, ...names: string[]) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));

test('an operator may leave the ids of pods to the cluster, as OpenShift requires', async () => {
  const podSecurityContext = { runAsUser: null, runAsGroup: null, fsGroup: null };
  const api = named(await render({ ...required, podSecurityContext }), 'Deployment', 'support-api');
  expect(podOf(api)?.spec.securityContext).toEqual({
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  });
});

test('labels and annotations of the values reach every pod without replacing those of the chart', async () => {
  const podLabels = { 'app.kubernetes.io/component': 'other', team: 'support' };
  for (const manifest of await render({ ...everything, podLabels })) {
    expect(manifest.metadata.labels ?? { 'cost-center': 'support' }).toMatchObject({
      'cost-center': 'support',
    });
    if (manifest.kind !== 'Deployment') continue;
    expect(manifest.metadata.annotations).toEqual({ 'reloader.stakater.com/auto': 'true' });
    const { labels } = podOf(manifest)?.metadata ?? {};
    expect(labels).toMatchObject({ team: 'support' });
    expect(labels).toMatchObject((manifest.spec?.selector as { matchLabels: object }).matchLabels);
  }
});

test('the console requires its token and admits only the named peers', async () => {
  const manifests = await render(everything);
  const container = containerOf(named(manifests, 'Deployment', 'support-console'));
  expect(container).toMatchObject({
    command: ['node', 'services/console/main.ts'],
    env: expect.arrayContaining([
      { name: 'CONSOLE_HOST', value: '0.0.0.0' },
      { name: 'DEPLOYMENT', value: 'helm' },
    ]) as unknown,
    envFrom: expect.arrayContaining([{ secretRef: { name: 'support-console' } }]) as unknown,
  });
  expect(named(manifests, 'NetworkPolicy', 'support-console')?.spec?.ingress).toEqual([
    { ports: [{ port: 8081 }], from: [{ podSelector: { matchLabels: { app: 'proxy' } } }] },
  ]);
});

test('an HTTPRoute leads to the Service, and its host is that of the links in errors', async () => {
  const api = { ...everything.api, ingress: {}, tls: {}, settings: required.api.settings };
  const manifests = await render({ ...everything, api });
  expect(named(manifests, 'HTTPRoute', 'support-api')?.spec).toEqual({
    parentRefs: [{ name: 'public', namespace: 'gateways' }],
    hostnames: ['api.example.com'],
    rules: [{ backendRefs: [{ name: 'support-api', port: 80 }] }],
  });
  const variables = variablesOf(named(manifests, 'Deployment', 'support-api'));
  expect(variables).toMatchObject({ API_BASE_URL: 'https://api.example.com' });
});
