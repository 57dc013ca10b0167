import { z } from 'zod';
import { configOrExit, type Environment, readConfig } from '../../shared/runtime/config.ts';
import { commonSettings, kafkaRule, kafkaSettings, storeSettings } from '../../shared/runtime/settings.ts';
import { apiSettings } from '../api/config.ts';
import { operatorSettings } from '../operations/settings.ts';
import { projectorSettings } from '../projector/config.ts';

const logSetting = { LOG_LEVEL: commonSettings.LOG_LEVEL.unwrap().default('error') };

/** `TOMBSTONE_DAYS` is a setting of the projector: a redrive applies records by the projector's rules. */
const mongoSettings = {
  ...storeSettings,
  ...logSetting,
  TOPIC_PREFIX: kafkaSettings.TOPIC_PREFIX,
  TOMBSTONE_DAYS: projectorSettings.TOMBSTONE_DAYS,
  OPERATOR: z
    .string()
    .optional()
    .describe(
      'Name of the operator in the history of generations, in blocks of keys and in the ledger of dead letters; by default the system user and the host',
    ),
};

/** `KEY_PREFIX` is a setting of the API: the token of a new key begins as the API expects. */
const topicSettings = { ...kafkaSettings, ...logSetting, KEY_PREFIX: apiSettings.KEY_PREFIX };

/** The settings of a verb that uses only MongoDB. */
export type ControlConfig = z.output<z.ZodObject<typeof mongoSettings>>;

/** The settings of the CLI. It logs only errors, unless LOG_LEVEL is set. */
export const cliSettings = { ...operatorSettings, ...mongoSettings, ...topicSettings };

/** Reads the settings of a verb for the servers that it uses. Prints every error and exits if they are invalid. */
export const configs = {
  everything: (environment: Environment) => configOrExit(readConfig(cliSettings, environment, kafkaRule)),
  kafka: (environment: Environment) => configOrExit(readConfig(topicSettings, environment, kafkaRule)),
  mongo: (environment: Environment) => configOrExit(readConfig(mongoSettings, environment)),
};
