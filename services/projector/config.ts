import { z } from 'zod';
import { readConfig, saslRule, type Environment } from '../../shared/runtime/config.ts';
import { commonSettings, kafkaSettings, storeSettings } from '../../shared/runtime/settings.ts';

/** What the projector reads from the environment. */
export const projectorSettings = {
  ...kafkaSettings,
  ...storeSettings,
  ...commonSettings,
  KAFKA_SESSION_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .min(1_000)
    .max(300_000)
    .default(30_000)
    .describe(
      'After this long without a heartbeat a projector loses its partitions to the others, in milliseconds',
    ),
  QUEUED_MEGABYTES_MAX: z.coerce
    .number()
    .min(8)
    .max(1_024)
    .default(32)
    .describe(
      'Records fetched and not yet applied, in megabytes, 8 to 1,024; a partition pauses above its equal share of it',
    ),
  TOMBSTONE_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .default(30)
    .describe('Days for which a deleted entity is remembered against late records (conversations: always)'),
  LATENESS_ALLOWANCE_SECONDS: z.coerce
    .number()
    .min(0)
    .default(5)
    .describe(
      'How late after its `time` the product may publish an event, or commit its transaction; `Data-As-Of` stays behind by as much',
    ),
};

export const projectorConfig = (environment: Environment) =>
  readConfig(projectorSettings, environment, saslRule);
