import type { Values } from './chart.ts';

/** Part of every secret. */
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
export const everything = {
  ...twoGenerations,
  image: { tag: '2.0.0', pullSecrets: ['registry'] },
  projector: {
    ...required.projector,
    secrets: { ...required.projector.secrets, KAFKA_SASL_PASSWORD: password },
    settings: { QUEUED_MEGABYTES_MAX: 64 },
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
    autoscaling: { enabled: true },
  },
  cli: {
    replicas: 1,
    existingSecret: '',
    secrets: { MONGODB_URL: `mongodb://cli:${password}@mongo/`, KAFKA_SASL_USERNAME: 'operator' },
    settings: { OPERATOR: 'ann' },
  },
  topics: { create: true },
  keda: { enabled: true },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
  networkPolicy: {
    clients: [{ podSelector: {} }],
    egress: [{ ports: [{ port: 443 }], to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }],
  },
  serviceAccount: { annotations: { team: 'support' } },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'team', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' },
  ],
  podAnnotations: { 'sidecar.istio.io/inject': 'false' },
  caSecretName: 'private-ca',
  env: [{ name: 'TZ', value: 'UTC' }],
  extraVolumes: [{ name: 'client', secret: { secretName: 'mongodb-client' } }],
  extraVolumeMounts: [{ name: 'client', mountPath: '/etc/mongodb' }],
};
const nothing = {
  ...required,
  api: { ...required.api, podDisruptionBudget: { enabled: false } },
  verify: { enabled: false },
  networkPolicy: { enabled: false },
  serviceAccount: { create: false },
};
/** Values of deployments, each with a name. */
export const deployments: [string, Values][] = [
  ['only the required values', required],
  ['two generations', twoGenerations],
  ['everything', everything],
  ['every optional object off', nothing],
];
