import { z } from 'zod';
import { readConfig, type Environment } from '../../shared/runtime/config.ts';
import { commonSettings, kafkaRule, kafkaSettings, storeSettings } from '../../shared/runtime/settings.ts';
import { projectorSettings } from '../projector/config.ts';

const logSetting = { LOG_LEVEL: commonSettings.LOG_LEVEL.unwrap().default('error') };

/** Settings of the dead-letter verbs. Re-driving applies records by the projector's rules, so it shares its settings. */
export const deadLetterSettings = {
  ...storeSettings,
  ...logSetting,
  TOPIC_PREFIX: kafkaSettings.TOPIC_PREFIX,
  TOMBSTONE_DAYS: projectorSettings.TOMBSTONE_DAYS,
};

/** Settings of the CLI. It logs errors only, unless LOG_LEVEL is set. */
export const cliSettings = {
  ...kafkaSettings,
  ...deadLetterSettings,
  OPERATOR: z
    .string()
    .optional()
    .describe(
      'Name of the operator in the history of generations and in blocks of keys; by default the system user and the host',
    ),
  LATENESS_ALLOWANCE_SECONDS: projectorSettings.LATENESS_ALLOWANCE_SECONDS,
  REBUILD_DAYS_MAX: z.coerce
    .number()
    .min(0)
    .default(3)
    .describe(
      'Maximum days for a rebuild of the read model; `cli status` warns about topics that drop tombstones (`delete.retention.ms`) sooner',
    ),
};

export const cliConfig = (environment: Environment) => readConfig(cliSettings, environment, kafkaRule);

/** Settings of the verbs that only read the store. */
export const storeConfig = (environment: Environment) =>
  readConfig({ ...storeSettings, ...logSetting }, environment);

export const deadLetterConfig = (environment: Environment) => readConfig(deadLetterSettings, environment);
