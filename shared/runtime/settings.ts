import { z } from 'zod';

/**
 * The environment variables that more than one service reads. An absent or empty variable takes its default; a variable
 * without a default must be set. The table in docs/configuration.md is generated from them.
 */
const port = z.coerce.number().int().min(0).max(65_535);

export const flag = z
  .enum(['true', 'false', '1', '0'])
  .transform((value) => value === 'true' || value === '1');

export const commonSettings = {
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('The least severe level that is logged'),
  ADMIN_PORT: port
    .optional()
    .describe(
      'Port of `/livez`, `/readyz` and `/metrics`; 0 = any free port, which is logged; unset = not served',
    ),
};

export const storeSettings = {
  MONGODB_URL: z
    .string()
    .regex(/^mongodb(\+srv)?:\/\/./, 'must start with mongodb:// or mongodb+srv://')
    .describe('MongoDB connection string; its `maxPoolSize` limits the connections of a process'),
  DATABASE_NAME: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,48}$/, 'must be 1 to 48 letters, digits, - or _')
    .default('support')
    .describe('Control database; generation N of the read model is in `<DATABASE_NAME>_gN`'),
};

export const kafkaSettings = {
  KAFKA_BROKERS: z
    .string()
    .transform((value) => value.split(',').map((broker) => broker.trim()))
    .refine((brokers) => brokers.every((broker) => /^[^\s:]+:\d+$|^\[[^\]]+\]:\d+$/.test(broker)), {
      message: 'must be host:port, or several separated by commas',
    })
    .describe('Bootstrap servers, `host:port,host:port`'),
  KAFKA_CLIENT_ID: z.string().default('support-read-models').describe('Client id that the brokers see'),
  KAFKA_SSL: flag.default(false).describe('Connect to the brokers over TLS'),
  KAFKA_SASL_MECHANISM: z
    .enum(['plain', 'scram-sha-256', 'scram-sha-512'])
    .optional()
    .describe('SASL mechanism; requires `KAFKA_SASL_USERNAME` and `KAFKA_SASL_PASSWORD`'),
  KAFKA_SASL_USERNAME: z.string().optional().describe('SASL user name'),
  KAFKA_SASL_PASSWORD: z.string().optional().describe('SASL password'),
  TOPIC_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9._-]{0,100}$/, 'must be letters, digits, ., - or _')
    .default('support.')
    .describe('Prefix of every topic name'),
  CONSUMER_GROUP: z
    .string()
    .default('support-read-models')
    .describe('Consumer group of generation 1; generation N adds `_gN`'),
};

export { port };
