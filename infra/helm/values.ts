import { z } from 'zod';
import { apiSettings } from '../../services/api/config.ts';
import { cliSettings } from '../../services/cli/config.ts';
import { projectorSettings } from '../../services/projector/config.ts';
import { variablesOf } from '../../shared/runtime/config.ts';

/** The components of the chart, and the settings that each one reads. */
export const components: Record<'projector' | 'api' | 'cli', Record<string, z.ZodType>> = {
  projector: projectorSettings,
  api: apiSettings,
  cli: cliSettings,
};
const services = Object.values(components);

/** The templates set these themselves. */
const setByTemplates = [
  ...['GENERATION', 'ADMIN_PORT', 'ADMIN_HOST', 'DEPLOYMENT'],
  ...['API_HOST', 'API_PORT', 'API_TLS_CERT', 'API_TLS_KEY'],
];

const isSecret = ([name, setting]: [string, z.ZodType]) => variablesOf(name, setting).length > 1;

/** An optional value with the description of its setting. */
const described = <T extends z.ZodType>(value: T, { description = '' }: z.ZodType) =>
  value.optional().describe(description);

const readers = (name: string) => services.filter((settings) => name in settings).length;

/** The plain settings among `entries` that `holds` accepts, as optional texts, numbers or booleans. */
const plainSettings = (entries: [string, z.ZodType][], holds: (name: string) => boolean) =>
  z.strictObject(
    Object.fromEntries(
      entries
        .filter(
          ([name, setting]) => !isSecret([name, setting]) && !setByTemplates.includes(name) && holds(name),
        )
        .map(([name, setting]) => [name, described(z.union([z.string(), z.number(), z.boolean()]), setting)]),
    ),
  );

const everySetting = services
  .flatMap((settings) => Object.entries(settings))
  // The CLI shares descriptions with the services.
  .filter(([, { description }]) => description);

const component = (name: keyof typeof components) => {
  const entries = Object.entries(components[name]);
  const secrets = entries
    .filter(isSecret)
    .map(([secret, setting]) => [secret, described(z.string().min(1), setting)] as const);
  return {
    settings: plainSettings(entries, (setting) => readers(setting) === 1).describe(
      `Settings that only this service reads: the ConfigMap <name>-${name}`,
    ),
    existingSecret: z.string().describe('A Secret whose keys are names of settings, instead of `secrets`'),
    secrets: z
      .strictObject(Object.fromEntries(secrets))
      .describe(`Secret settings, of which the chart makes the Secret <name>-${name}`),
    resources: z.looseObject({}).describe('Requests and limits of the container'),
  };
};

const count = (min: number) => z.int().min(min);
const ports = z.array(count(1).max(65_535));
const texts = z.record(z.string(), z.string());
const objects = z.array(z.looseObject({}));
const image = { repository: z.string().min(1), tag: z.string().describe('By default the appVersion') };

const generation = z.strictObject({
  number: count(1).describe('As `support-cli rebuild start` prints it; its consumer group follows from it'),
  replicas: count(0).describe('Projectors; with KEDA the minimum'),
  maxReplicas: count(1)
    .optional()
    .describe(
      'Projectors at most: no more than a topic has partitions. KEDA scales only generations that have it',
    ),
  image: z.strictObject(image).partial().optional().describe('The release that fills this generation'),
});

const ingress = z.strictObject({
  enabled: z.boolean(),
  className: z.string(),
  annotations: texts,
  host: z.string().describe('The public host, also the default of API_BASE_URL'),
  tlsSecretName: z.string().describe('A Secret of type kubernetes.io/tls'),
});

const networkPolicy = z.strictObject({
  enabled: z.boolean(),
  clients: objects.describe('Peers that may reach the API; any, if empty'),
  metrics: objects.describe('Peers that may reach the admin port; none, if empty'),
  ports: z
    .strictObject({ mongodb: ports, kafka: ports, rateLimitStore: ports, collector: ports })
    .describe('Ports to which pods may connect, besides DNS'),
  egress: objects.describe('Further rules of egress for every pod'),
});

const api = z.strictObject({
  replicas: count(0).describe('Without autoscaling'),
  ...component('api'),
  tls: z.strictObject({
    secretName: z.string().describe('A Secret of type kubernetes.io/tls, with which the API terminates TLS'),
  }),
  service: z.strictObject({ type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']), annotations: texts }),
  ingress,
  autoscaling: z.strictObject({
    enabled: z.boolean(),
    minReplicas: count(1),
    maxReplicas: count(1),
    cpuPercent: count(1).max(100).describe('Of the CPU request, on average'),
  }),
  podDisruptionBudget: z.strictObject({
    enabled: z.boolean(),
    maxUnavailable: z.union([count(1), z.string().regex(/^\d+%$/)]),
  }),
});

/** The values of the chart. `npm run docs` makes values.schema.json of it, by which Helm refuses other values. */
export const chartValues = z.strictObject({
  global: z.looseObject({}).optional().describe('Helm sets it in the chart of another chart; unused'),
  fullnameOverride: z.string().max(40).describe('Begins the names of all objects; by default the release'),
  image: z.strictObject({
    ...image,
    pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']),
    pullSecrets: z.array(z.string()).describe('Names of Secrets'),
  }),
  settings: plainSettings(everySetting, (name) => readers(name) > 1).describe(
    'Settings that several services read: the ConfigMap <name>',
  ),
  generations: z.array(generation).min(1).describe('One Deployment of projectors for each generation'),
  projector: z.strictObject(component('projector')),
  api,
  cli: z.strictObject({ replicas: count(0).max(1), ...component('cli') }),
  topics: z.strictObject({
    create: z.boolean().describe('Whether a Job creates the topics that are absent'),
    partitions: count(1).max(1_000).describe('Of each new topic'),
  }),
  verify: z.strictObject({ enabled: z.boolean(), schedule: z.string().describe('In the syntax of cron') }),
  keda: z.strictObject({
    enabled: z.boolean().describe('Whether KEDA scales the generations that have `maxReplicas`'),
    prometheus: z.url().describe('Address of the Prometheus that has the metrics of the projectors'),
    lagSeconds: count(1).describe('Seconds of lag for which KEDA runs one projector'),
  }),
  serviceMonitor: z.strictObject({
    enabled: z.boolean(),
    interval: z.string().regex(/^\d+(ms|s|m)$/),
    labels: texts.describe('By which Prometheus selects it'),
  }),
  networkPolicy,
  serviceAccount: z.strictObject({
    create: z.boolean(),
    name: z.string().describe('By default the name of the release, or `default` if none is created'),
    annotations: texts,
  }),
  nodeSelector: texts,
  tolerations: objects,
});

/** values.schema.json. Helm validates the values after it has merged them with the defaults of values.yaml. */
export const chartSchema = () => z.toJSONSchema(chartValues, { io: 'input', target: 'draft-7' });
