import type { z } from 'zod';
import { type Environment, readConfig } from '../../shared/runtime/config.ts';
import {
  commonSettings,
  decimal,
  integer,
  kafkaRule,
  kafkaSettings,
  storeSettings,
} from '../../shared/runtime/settings.ts';

/** The environment variables that the projector reads. */
export const projectorSettings = {
  ...kafkaSettings,
  ...storeSettings,
  ...commonSettings,
  GENERATION: integer(1)
    .optional()
    .describe('The generation that the projector follows; unset = the active generation at its start'),
  KAFKA_SESSION_TIMEOUT_MS: integer(1_000, 300_000)
    .default(30_000)
    .describe(
      'Milliseconds without a heartbeat after which the group assigns the partitions of a projector to other projectors',
    ),
  // A date beyond the range of JavaScript would be stored as 1970, and the tombstone would expire immediately.
  TOMBSTONE_DAYS: integer(1, 36_500)
    .default(30)
    .describe(
      'Days (1 to 36,500) for which a deleted entity keeps its tombstone, which rejects late records (conversations, and channels with a retention: forever)',
    ),
  DEAD_LETTER_MEGABYTES_MAX: integer(1, 1_000_000)
    .default(256)
    .describe(
      'Megabytes that the bytes of dead letters may take, the same share for each topic; beyond it, a redrive reads the record from Kafka',
    ),
  LATENESS_ALLOWANCE_SECONDS: decimal(0)
    .default(5)
    .describe(
      'Seconds after its `time` within which the source system publishes an event and commits its transaction; `Data-As-Of` lags by this time',
    ),
};

/** The settings of a projector, as they were read. */
export type ProjectorConfig = z.output<z.ZodObject<typeof projectorSettings>>;

export const projectorConfig = (environment: Environment) =>
  readConfig(projectorSettings, environment, kafkaRule);
