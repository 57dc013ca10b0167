import { generate } from 'selfsigned';
import { type Environment, readConfig } from './config.ts';
import { kafkaRule, kafkaSettings } from './settings.ts';

const read = (environment: Environment) =>
  readConfig(kafkaSettings, { KAFKA_BROKERS: 'kafka:9092', ...environment }, kafkaRule);
const user = { KAFKA_SASL_USERNAME: 'u', KAFKA_SASL_PASSWORD: 'p' };

it.each([
  [{ KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'u' }, /^KAFKA_SASL_PASSWORD is not set/],
  [{ KAFKA_SASL_MECHANISM: 'oauthbearer', ...user }, /^KAFKA_SASL_TOKEN_URL is not set/],
  [
    { KAFKA_SASL_MECHANISM: 'plain', ...user, KAFKA_SASL_TOKEN_URL: 'https://issuer/token' },
    /^KAFKA_SASL_TOKEN_URL is set, but KAFKA_SASL_MECHANISM is not oauthbearer$/,
  ],
  [{ KAFKA_SASL_TOKEN_SCOPE: 'kafka' }, /^KAFKA_SASL_TOKEN_SCOPE is set, but/],
  [{ KAFKA_TLS_CA: 'pem' }, /^KAFKA_TLS_CA is set, but KAFKA_SSL is not true$/],
  [{ KAFKA_SSL: 'true', KAFKA_TLS_CA: 'pem' }, /^KAFKA_TLS_CA: /],
  [{ KAFKA_SSL: '1', KAFKA_TLS_CERT: 'pem' }, /^KAFKA_TLS_KEY is not set, but KAFKA_TLS_CERT is$/],
  [{ KAFKA_SSL: '1', KAFKA_TLS_KEY: 'pem' }, /^KAFKA_TLS_CERT is not set, but KAFKA_TLS_KEY is$/],
  [{ KAFKA_SSL: '1', KAFKA_TLS_CERT: 'pem', KAFKA_TLS_KEY: 'pem' }, /^KAFKA_TLS_CERT, KAFKA_TLS_KEY: /],
])('Kafka settings that cannot hold together are one error: %j', (environment, error) => {
  expect(read(environment)).toEqual({ errors: [expect.stringMatching(error)] });
});

it('certificates are checked at the start, also whether the key belongs to the certificate', async () => {
  const [one, other] = await Promise.all([1, 2].map(() => generate(undefined, { keySize: 2048 })));
  const given = { KAFKA_SSL: 'true', KAFKA_TLS_CA: one?.cert, KAFKA_TLS_CERT: one?.cert };
  expect(read({ ...given, KAFKA_TLS_KEY: one?.private })).toHaveProperty('config');
  expect(read({ ...given, KAFKA_TLS_KEY: other?.private })).toEqual({
    errors: [expect.stringContaining('KAFKA_TLS_CERT, KAFKA_TLS_KEY: ')],
  });
});
