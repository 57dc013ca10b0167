import { z } from 'zod';
import { kafkaSettings, storeSettings } from '../../shared/runtime/settings.ts';
import { projectorSettings } from '../projector/config.ts';
import { deployments } from './deployment.ts';

/** The CLI needs this setting before it knows the verb. */
export const deploymentSetting = {
  DEPLOYMENT: z
    .enum(deployments)
    .default('source')
    .describe(
      'Form of the next commands that the CLI and the console print: `source` (a clone), `compose` or `helm`. Compose and the chart set it',
    ),
};

/** The settings of every operation that reads Kafka and MongoDB. */
export const operatorSettings = {
  ...kafkaSettings,
  ...storeSettings,
  ...deploymentSetting,
  LATENESS_ALLOWANCE_SECONDS: projectorSettings.LATENESS_ALLOWANCE_SECONDS,
  DEAD_LETTER_MEGABYTES_MAX: projectorSettings.DEAD_LETTER_MEGABYTES_MAX,
};
