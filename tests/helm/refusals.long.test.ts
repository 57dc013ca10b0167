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
])('Helm refuses %s, and names the value', async (_, values, error) => {
  await expect(chart.template(values)).rejects.toThrow(error);
});
