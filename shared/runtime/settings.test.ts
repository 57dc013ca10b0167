import { generate } from 'selfsigned';
import { type Environment, readConfig } from './config.ts';
import { kafkaRule, kafkaSettings } from './settings.ts';

const read = (environment: Environment) =>
  readConfig(kafkaSettings, { KAFKA_BROKERS: 'kafka:9092', ...environment }, kafkaRule);
const user = { KAFKA_SASL_USERNAME: 'u', KAFKA_SASL_PASSWORD: 'p' };

test.each([
  [{ KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'u' }, /^KAFKA_SASL_PASSWORD is not set/],
  [{ KAFKA_SASL_MECHANISM: 'oauthbearer', ...user }, /^KAFKA_SASL_TOKEN_URL is not set/],
  [
    { KAFKA_SASL_MECHANISM: 'plain', ...user, KAFKA_SASL_TOKEN_URL: 'https://issuer/token' },
    /^KAFKA_SASL_TOKEN_URL is set, but KAFKA_SASL_MECHANISM is not oauthbearer$/,
  ],
  [{ KAFKA_SASL_TOKEN_SCOPE: 'kafka' }, /^KAFKA_SASL_TOKEN_SCOPE is set, but/],
  [{ KAFKA_TLS_CA: 'pem' }, /^KAFKA_TLS_CA is set, but KAFKA_SSL is not true$/],
  [{ KAFKA_SSL: '1', KAFKA_TLS_CA: 'pem' }, /^KAFKA_TLS_CA: /],
  [{ KAFKA_SSL: 'true', KAFKA_TLS_CERT: 'pem' }, /^KAFKA_TLS_KEY is not set, but KAFKA_TLS_CERT is$/],
  [{ KAFKA_SSL: 'true', KAFKA_TLS_KEY: 'pem' }, /^KAFKA_TLS_CERT is not set, but KAFKA_TLS_KEY is$/],
  [{ KAFKA_SSL: 'true', KAFKA_TLS_CERT: 'pem', KAFKA_TLS_KEY: 'pem' }, /^KAFKA_TLS_CERT, KAFKA_TLS_KEY: /],
])('contradictory Kafka settings yield one error: %j', (environment, error) => {
  expect(read(environment)).toEqual({ errors: [expect.stringMatching(error)] });
});

test('a certificate must be valid, and the key must belong to it', async () => {
  const pair = await generate(undefined, { keySize: 2048 });
  const otherPair = await generate(undefined, { keySize: 2048 });
  const settings = { KAFKA_SSL: 'true', KAFKA_TLS_CA: pair.cert, KAFKA_TLS_CERT: pair.cert };
  expect(read({ ...settings, KAFKA_TLS_KEY: pair.private })).toHaveProperty('config');
  expect(read({ ...settings, KAFKA_TLS_KEY: otherPair.private })).toEqual({
    errors: [expect.stringContaining('KAFKA_TLS_CERT, KAFKA_TLS_KEY: ')],
  });
});
