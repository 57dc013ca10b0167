import { readConfig, saslRule, type Environment } from '../../shared/runtime/config.ts';
import { commonSettings, kafkaSettings, storeSettings } from '../../shared/runtime/settings.ts';

const logSetting = { LOG_LEVEL: commonSettings.LOG_LEVEL.unwrap().default('error') };

/** What the operator's verbs read from the environment; they log warnings and errors only, unless told more. */
export const cliSettings = {
  ...kafkaSettings,
  ...storeSettings,
  ...logSetting,
};

export const cliConfig = (environment: Environment) => readConfig(cliSettings, environment, saslRule);

/** For verbs that ask the store alone. */
export const storeConfig = (environment: Environment) =>
  readConfig({ ...storeSettings, ...logSetting }, environment);
