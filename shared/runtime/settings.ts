import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { z } from 'zod';
import { type Environment, orFile } from './config.ts';
import { connectionStringError } from './connection-string.ts';
import { errorMessage } from './error-message.ts';

/*
 * The environment variables that more than one service reads. A variable that is absent, empty or blank takes its
 * default; a variable without a default must be set. The table in docs/configuration.md is generated from them.
 */

/** Digits: `Number` would take a blank for 0, and `0x10` and `1e3` for numbers. */
const numeric = (pattern: RegExp, error: string) => z.string().regex(pattern, error).transform(Number);

/** A whole number from `min` to `max`. */
export const integer = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  numeric(/^-?\d+$/, 'must be a whole number').pipe(z.number().int().min(min).max(max));

/** A number from `min` on, with or without decimals. */
export const decimal = (min: number) =>
  numeric(/^-?\d+(\.\d+)?$/, 'must be a number').pipe(z.number().min(min).max(Number.MAX_SAFE_INTEGER));

export const port = integer(0, 65_535);

export const flag = z
  .enum(['true', 'false', '1', '0'])
  .transform((value) => value === 'true' || value === '1');

export const commonSettings = {
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('The least severe level in the log'),
  ADMIN_PORT: port
    .optional()
    .describe(
      'Port of `/livez`, `/readyz` and `/metrics`; 0 = any free port, which is logged; unset = not served',
    ),
  ADMIN_HOST: z
    .string()
    .optional()
    .describe(
      'Address that `ADMIN_PORT` listens on; unset = all, because probes may come from a different host',
    ),
};

export const storeSettings = {
  MONGODB_URL: z
    .string()
    .regex(/^mongodb(\+srv)?:\/\/./, { error: 'must start with mongodb:// or mongodb+srv://', abort: true })
    .superRefine((url, context) => {
      const message = connectionStringError(url);
      if (message !== null) context.addIssue({ code: 'custom', message });
    })
    .describe(
      'MongoDB connection string. Its [options](mongodb.md#options-of-the-connection-string) apply, such as `maxPoolSize`; an option that cannot apply is an error',
    )
    .meta(orFile),
  DATABASE_NAME: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,48}$/, 'must be 1 to 48 letters, digits, - or _')
    .default('support')
    .describe('Control database; generation N of the read model is in `<DATABASE_NAME>_gN`'),
};

const pem = (meaning: string) => z.string().optional().describe(meaning).meta(orFile);

export const kafkaSettings = {
  KAFKA_BROKERS: z
    .string()
    .transform((value) => value.split(',').map((broker) => broker.trim()))
    .refine((brokers) => brokers.every((broker) => /^[^\s:]+:\d+$/.test(broker)), {
      // kafkajs splits at the first colon.
      message: 'must be host:port, or several separated by commas; for an IPv6 address give a host name',
    })
    .describe('Bootstrap servers, `host:port,host:port`'),
  KAFKA_SSL: flag.default(false).describe('Connect to the brokers over TLS'),
  KAFKA_TLS_CA: pem(
    "Certificates (PEM) of the authorities that sign the brokers' certificates; unset = the authorities of Node.js",
  ),
  KAFKA_TLS_CERT: pem('Client certificate (PEM), for brokers that ask for one'),
  KAFKA_TLS_KEY: pem('Key of the client certificate (PEM)'),
  KAFKA_SASL_MECHANISM: z
    .enum(['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'])
    .optional()
    .describe(
      'SASL mechanism; requires `KAFKA_SASL_USERNAME` and `KAFKA_SASL_PASSWORD`, and for `oauthbearer` `KAFKA_SASL_TOKEN_URL`',
    ),
  KAFKA_SASL_USERNAME: z.string().optional().describe('SASL user name; for `oauthbearer` the client id'),
  KAFKA_SASL_PASSWORD: z
    .string()
    .optional()
    .describe('SASL password; for `oauthbearer` the client secret')
    .meta(orFile),
  KAFKA_SASL_TOKEN_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address', abort: true })
    .refine((url) => new URL(url).username === '' && new URL(url).password === '', {
      error: 'must not contain credentials: KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD hold them',
    })
    .optional()
    .describe(
      'For `oauthbearer`: issues access tokens for the client id and secret (client credentials grant)',
    ),
  KAFKA_SASL_TOKEN_SCOPE: z.string().optional().describe('For `oauthbearer`: the scope of the token'),
  TOPIC_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9._-]{0,100}$/, 'must be letters, digits, ., - or _')
    .default('support.')
    .describe('Prefix of every topic name'),
  CONSUMER_GROUP: z
    .string()
    .optional()
    .describe(
      'Consumer group of generation 1, which no other deployment may use; generation N adds `_gN`; unset = `<DATABASE_NAME>-read-models`',
    ),
};

/** The errors of Kafka settings that need each other. Every service that connects to Kafka checks this. */
export function kafkaRule(values: Environment): string[] {
  const isEncrypted = values.KAFKA_SSL === 'true' || values.KAFKA_SSL === '1';
  const tlsErrors = isEncrypted
    ? certificateErrors(values)
    : withoutEffect(values, tlsNames, 'KAFKA_SSL is not true');
  return [...saslErrors(values), ...tlsErrors];
}

export const tlsNames = ['KAFKA_TLS_CA', 'KAFKA_TLS_CERT', 'KAFKA_TLS_KEY'];
const tokenNames = ['KAFKA_SASL_TOKEN_URL', 'KAFKA_SASL_TOKEN_SCOPE'];

const withoutEffect = (values: Environment, names: string[], because: string): string[] =>
  names.filter((name) => values[name]).map((name) => `${name} is set, but ${because}`);

const missing = (values: Environment, names: string[], because: string): string[] =>
  names.filter((name) => !values[name]).map((name) => `${name} is not set, but ${because} is`);

function saslErrors(values: Environment): string[] {
  const { KAFKA_SASL_MECHANISM: mechanism } = values;
  const credentials = ['KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'];
  const credentialErrors = mechanism
    ? missing(values, credentials, 'KAFKA_SASL_MECHANISM')
    : withoutEffect(values, credentials, 'KAFKA_SASL_MECHANISM is not');
  const tokenErrors =
    mechanism === 'oauthbearer'
      ? missing(values, ['KAFKA_SASL_TOKEN_URL'], 'KAFKA_SASL_MECHANISM=oauthbearer')
      : withoutEffect(values, tokenNames, 'KAFKA_SASL_MECHANISM is not oauthbearer');
  return [...credentialErrors, ...tokenErrors];
}

/** The errors of the certificates and of the key, without the values. */
export function certificateErrors(values: Environment): string[] {
  const { KAFKA_TLS_CA: ca, KAFKA_TLS_CERT: cert, KAFKA_TLS_KEY: key } = values;
  const errors: string[] = [];
  const check = (names: string, read: () => unknown) => {
    try {
      read();
    } catch (error) {
      errors.push(`${names}: ${errorMessage(error)}`);
    }
  };
  if (ca) check('KAFKA_TLS_CA', () => new X509Certificate(ca));
  if (cert && key) check('KAFKA_TLS_CERT, KAFKA_TLS_KEY', () => createSecureContext({ cert, key }));
  else if (cert) errors.push('KAFKA_TLS_KEY is not set, but KAFKA_TLS_CERT is');
  else if (key) errors.push('KAFKA_TLS_CERT is not set, but KAFKA_TLS_KEY is');
  return errors;
}
