import { z } from 'zod';
import { readConfig, saslRule, type Environment } from '../../shared/runtime/config.ts';
import { commonSettings, kafkaSettings, storeSettings } from '../../shared/runtime/settings.ts';
import { projectorSettings } from '../projector/config.ts';

const logSetting = { LOG_LEVEL: commonSettings.LOG_LEVEL.unwrap().default('error') };

/** For the verbs of the dead letters, which apply records by the projector's rules. */
export const deadLetterSettings = {
  ...storeSettings,
  ...logSetting,
  TOPIC_PREFIX: kafkaSettings.TOPIC_PREFIX,
  TOMBSTONE_DAYS: projectorSettings.TOMBSTONE_DAYS,
};

/** What the operator's verbs read from the environment; they log warnings and errors only, unless told more. */
export const cliSettings = {
  ...kafkaSettings,
  ...deadLetterSettings,
  REBUILD_DAYS_MAX: z.coerce
    .number()
    .min(0)
    .default(3)
    .describe(
      'Days that a rebuild of the read model may take; `cli status` warns of topics that drop tombstones (`delete.retention.ms`) sooner',
    ),
};

export const cliConfig = (environment: Environment) => readConfig(cliSettings, environment, saslRule);

/** For verbs that ask the store alone. */
export const storeConfig = (environment: Environment) =>
  readConfig({ ...storeSettings, ...logSetting }, environment);

export const deadLetterConfig = (environment: Environment) => readConfig(deadLetterSettings, environment);
