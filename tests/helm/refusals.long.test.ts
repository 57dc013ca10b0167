import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { useChart, type Values } from './chart.ts';
import { required } from './example-values.ts';

const chart = useChart();

test.each<[string, Values, RegExp]>([
  ['an unknown value', { ...required, replicas: 3 }, /'replicas' not allowed/],
  [
    'a misspelt setting',
    { ...required, settings: { KAFKA_BROKER: 'kafka:9092' } },
    /settings\.KAFKA_BROKERS must be set/,
  ],
  [
    'a secret among the settings',
    { ...required, settings: { MONGODB_URL: 'mongodb://m/' } },
    /invalid propertyName 'MONGODB_URL'/,
  ],
  [
    'a text for a number',
    { ...required, generations: [{ number: 'one', replicas: 1 }] },
    /'\/generations\/0\/number'/,
  ],
  [
    'no secret of the CLI',
    { ...required, cli: {} },
    /cli\.existingSecret or cli\.secrets\.MONGODB_URL must be set/,
  ],
  ['no generation', { ...required, generations: [] }, /'\/generations'/],
  [
    'a generation twice',
    { ...required, generations: [1, 1].map((number) => ({ number, replicas: 1 })) },
    /generations has the number 1 twice/,
  ],
  [
    'a generation that KEDA could not start again',
    { ...required, keda: { enabled: true }, generations: [{ number: 1, replicas: 0, maxReplicas: 3 }] },
    /KEDA cannot start generation 1 from 0 replicas/,
  ],
  ['no brokers', { ...required, settings: {} }, /settings\.KAFKA_BROKERS must be set/],
  [
    'no secret',
    { ...required, projector: {} },
    /projector\.existingSecret or projector\.secrets\.MONGODB_URL must be set/,
  ],
  [
    'two secrets',
    { ...required, projector: { ...required.projector, existingSecret: 'other' } },
    /projector\.existingSecret and projector\.secrets are both set/,
  ],
  [
    'neither TLS nor a proxy',
    { ...required, api: { existingSecret: 'api' } },
    /api\.tls\.secretName or api\.settings\.API_TRUSTED_PROXIES must be set/,
  ],
  [
    'an Ingress without TLS',
    { ...required, api: { ...required.api, ingress: { enabled: true, host: 'api.example.com' } } },
    /api\.ingress\.tlsSecretName must be set/,
  ],
  [
    'a console without a token',
    { ...required, console: { enabled: true, secrets: { MONGODB_URL: 'mongodb://m/' } } },
    /console\.secrets\.CONSOLE_TOKEN must be set/,
  ],
  ['a tag that YAML takes for a number', { ...required, image: { tag: 1.1 } }, /'\/image\/tag'/],
  ['a digest without its algorithm', { ...required, image: { digest: '0123abcd' } }, /'\/image\/digest'/],
  [
    'a pull secret without a name',
    { ...required, image: { pullSecrets: [{}] } },
    /'\/image\/pullSecrets\/0'/,
  ],
  ...['GENERATION', 'ADMIN_PORT', 'API_PORT', 'CONSOLE_PORT'].flatMap((name): [string, Values, RegExp][] => [
    [
      `${name} as a setting`,
      { ...required, settings: { ...required.settings, [name]: 1 } },
      new RegExp(`invalid propertyName '${name}'`),
    ],
    [
      `${name} as a secret`,
      { ...required, cli: { secrets: { MONGODB_URL: 'mongodb://m/', [name]: '1' } } },
      new RegExp(`invalid propertyName '${name}'`),
    ],
    [`${name} as a variable`, { ...required, env: [{ name, value: '1' }] }, /'\/env\/0\/name'/],
  ]),
  [
    'a setting of the certificate that the chart sets',
    {
      ...required,
      api: { existingSecret: 'api', tls: { secretName: 'tls' }, settings: { API_TLS_CERT: '/etc/own.crt' } },
    },
    /settings\.API_TLS_CERT must not be set: the chart sets it to \/etc\/tls\/tls\.crt/,
  ],
  [
    'a delay of the stop that the grace period would not follow',
    { ...required, api: { ...required.api, env: [{ name: 'SHUTDOWN_DELAY_SECONDS', value: '60' }] } },
    /'\/api\/env\/0\/name'/,
  ],
  [
    'an autoscaler whose limits are reversed',
    { ...required, api: { ...required.api, autoscaling: { enabled: true, minReplicas: 8 } } },
    /api\.autoscaling\.minReplicas, 8, is above maxReplicas, 6/,
  ],
  [
    'a generation that begins above its limit',
    { ...required, keda: { enabled: true }, generations: [{ number: 1, replicas: 4, maxReplicas: 3 }] },
    /replicas of generation 1, 4, are above its maxReplicas, 3/,
  ],
  [
    'an alert that does not exist',
    { ...required, prometheusRule: { enabled: true, disabled: ['SupportLateEvent'] } },
    /prometheusRule\.disabled: there is no alert SupportLateEvent/,
  ],
  ...['my.support', '2support', 'Support', 'support_'].map((name): [string, Values, RegExp] => [
    `the name ${name}`,
    { ...required, fullnameOverride: name },
    new RegExp(`fullnameOverride must be set to .*"${name}" cannot name a Service`),
  ]),
  ['a schedule that is none', { ...required, verify: { schedule: 'weekly' } }, /'\/verify\/schedule'/],
  ['a text for a list', { ...required, networkPolicy: { clients: 'all' } }, /'\/networkPolicy\/clients'/],
  [
    'a kind of Service',
    { ...required, api: { ...required.api, service: { type: 'Public' } } },
    /'\/api\/service\/type'/,
  ],
  [
    'a list of hosts',
    { ...required, api: { ...required.api, ingress: { hosts: [] } } },
    /'hosts' not allowed/,
  ],
])('Helm refuses %s with an error that names the value', async (_, values, error) => {
  await expect(chart.template(values)).rejects.toThrow(error);
});

test.each(['my.support', '2support'])(
  'Helm accepts the release %s only with fullnameOverride',
  async (release) => {
    await expect(chart.template(required, { release })).rejects.toThrow(/fullnameOverride must be set/);
    await chart.template({ ...required, fullnameOverride: 'support' }, { release });
  },
);

test('Helm refuses an unknown value at every place of values.yaml', async () => {
  const places = placesOf(parse(readFileSync('infra/helm/values.yaml', 'utf8')) as Values, []);
  expect(places.map((path) => path.join('.'))).toEqual(expect.arrayContaining(['', 'image', 'api.ingress']));
  const notRefused = [];
  for (const path of places) {
    const values = merged(required, path, { unheardOf: true });
    const refusal = await chart.template(values).then(
      () => null,
      (error: Error) => error.message,
    );
    if (!refusal?.includes("'unheardOf' not allowed")) notRefused.push([path.join('.'), refusal]);
  }
  expect(notRefused).toEqual([]);
});

/** Matches the maps whose keys Kubernetes, the services or the operator choose. */
const mapsWithAnyKey =
  /^(global|.*[sS]ettings|.*secrets|.*[aA]nnotations|.*[lL]abels|.*(requests|limits)|nodeSelector|affinity|dnsConfig|strategy|.*behavior|(podS|s)ecurityContext.*)$/;

/** The paths of the maps in the values whose keys the chart chooses. */
function placesOf(values: Values, path: string[]): string[][] {
  const inner = Object.entries(values).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? placesOf(value as Values, [...path, name])
      : [],
  );
  return mapsWithAnyKey.test(path.join('.')) ? [] : [path, ...inner];
}

const merged = (values: Values, [name, ...rest]: string[], leaf: Values): Values =>
  name === undefined
    ? { ...values, ...leaf }
    : { ...values, [name]: merged((values[name] ?? {}) as Values, rest, leaf) };
