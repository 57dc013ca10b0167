import type { Values } from './chart.ts';

/** A text in every secret, so that a test can find a secret in a wrong place. */
export const password = 'hunter2';
/** The values without which Helm refuses the chart. */
export const required = {
  settings: { KAFKA_BROKERS: 'kafka:9092' },
  projector: { secrets: { MONGODB_URL: `mongodb://projector:${password}@mongo/` } },
  api: { existingSecret: 'api', settings: { API_TRUSTED_PROXIES: '10.0.0.0/8' } },
  cli: { existingSecret: 'cli' },
};
export const twoGenerations = {
  ...required,
  image: { tag: '2.0.0' },
  generations: [
    { number: 1, replicas: 2, image: { tag: '1.0.0' } },
    { number: 2, replicas: 1, maxReplicas: 6 },
  ],
};
/** The fields without which Pod Security "restricted" refuses a container. */
const plain = {
  resources: { limits: { memory: '64Mi' } },
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
};
export const everything = {
  ...twoGenerations,
  global: { imageRegistry: 'mirror.example.com' },
  image: { tag: '2.0.0', pullSecrets: ['registry', { name: 'mirror' }] },
  projector: {
    ...required.projector,
    secrets: { ...required.projector.secrets, KAFKA_SASL_PASSWORD: password },
    settings: { TOMBSTONE_DAYS: 60 },
  },
  api: {
    affinity: { podAntiAffinity: {} },
    secrets: {
      MONGODB_URL: `mongodb://api:${password}@mongo/`,
      RATE_LIMIT_STORE_URL: `rediss://:${password}@valkey`,
    },
    settings: { SHUTDOWN_DELAY_SECONDS: 60, API_CONNECTIONS_MAX: 1_000_000 },
    tls: { secretName: 'api-tls' },
    service: { annotations: { team: 'support' } },
    ingress: {
      enabled: true,
      className: 'nginx',
      annotations: { team: 'support' },
      host: 'api.example.com',
      tlsSecretName: 'ingress-tls',
    },
    httpRoute: {
      enabled: true,
      annotations: { team: 'support' },
      parentRefs: [{ name: 'public', namespace: 'gateways' }],
      hostnames: ['api.example.com'],
    },
    autoscaling: {
      enabled: true,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 80 } },
        },
      ],
      behavior: { scaleDown: { stabilizationWindowSeconds: 600 } },
    },
    podDisruptionBudget: { minAvailable: '50%' },
    strategy: { rollingUpdate: { maxSurge: '25%', maxUnavailable: 0 } },
    minReadySeconds: 5,
  },
  cli: {
    replicas: 1,
    existingSecret: '',
    secrets: { MONGODB_URL: `mongodb://cli:${password}@mongo/`, KAFKA_SASL_USERNAME: 'operator' },
    settings: { OPERATOR: 'ann' },
  },
  console: {
    enabled: true,
    secrets: {
      MONGODB_URL: `mongodb://console:${password}@mongo/`,
      CONSOLE_TOKEN: `${password}${password}${password}${password}`,
    },
    settings: { CONSOLE_HOSTNAMES: 'console.example.com' },
  },
  topics: { create: true, replicationFactor: 3, minInsyncReplicas: 2 },
  verify: { timeZone: 'Europe/Berlin' },
  keda: { enabled: true },
  serviceMonitor: {
    enabled: true,
    scrapeTimeout: '10s',
    labels: { release: 'prometheus' },
    relabelings: [{ targetLabel: 'cluster', replacement: 'one' }],
    metricRelabelings: [{ action: 'drop', sourceLabels: ['__name__'], regex: 'nodejs_gc.*' }],
  },
  prometheusRule: {
    enabled: true,
    labels: { release: 'prometheus' },
    runbookUrl: 'https://git.example.com/support/docs/runbooks/',
    disabled: ['SupportLateEvents'],
  },
  grafanaDashboard: { enabled: true, annotations: { folder: 'support' } },
  commonLabels: { 'cost-center': 'support' },
  extraObjects: [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: '{{ .Release.Name }}-extra' },
      data: { FURTHER: 'true' },
    },
  ],
  networkPolicy: {
    consoleClients: [{ podSelector: { matchLabels: { app: 'proxy' } } }],
    ports: { dns: [53, 5353] },
    clients: [{ podSelector: {} }],
    egress: [{ ports: [{ port: 443 }], to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }],
  },
  serviceAccount: { annotations: { team: 'support' } },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'team', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'topology.kubernetes.io/zone',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: { 'app.kubernetes.io/instance': 'support' } },
    },
  ],
  podAnnotations: { 'sidecar.istio.io/inject': 'false' },
  podLabels: { 'azure.workload.identity/use': 'true' },
  priorityClassName: 'system-cluster-critical',
  schedulerName: 'default-scheduler',
  hostAliases: [{ ip: '10.0.0.1', hostnames: ['kafka'] }],
  dnsConfig: { options: [{ name: 'ndots', value: '2' }] },
  initContainers: [{ name: 'wait', image: 'busybox', ...plain }],
  extraContainers: [{ name: 'proxy', image: 'envoy', ...plain }],
  extraEnvFrom: [{ configMapRef: { name: 'further', optional: true } }],
  deploymentAnnotations: { 'reloader.stakater.com/auto': 'true' },
  revisionHistoryLimit: 3,
  caSecretName: 'private-ca',
  env: [{ name: 'TZ', value: 'UTC' }],
  extraVolumes: [{ name: 'client', secret: { secretName: 'mongodb-client' } }],
  extraVolumeMounts: [{ name: 'client', mountPath: '/etc/mongodb' }],
};
const nothingOptional = {
  ...required,
  api: { ...required.api, podDisruptionBudget: { enabled: false } },
  verify: { enabled: false },
  upgradeCheck: { enabled: false },
  networkPolicy: { enabled: false },
  serviceAccount: { create: false },
};
/** The values of some deployments, each with a name. */
export const deployments: [string, Values][] = [
  ['only the required values', required],
  ['two generations', twoGenerations],
  ['everything', everything],
  ['every optional object off', nothingOptional],
];
