import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { type Environment, orFile, readConfig, variablesOf } from '../../shared/runtime/config.ts';
import { commonSettings, kafkaRule, port } from '../../shared/runtime/settings.ts';
import { operatorSettings } from '../operations/settings.ts';

/** The least number of characters of a token: a random token of this length cannot be guessed. */
const tokenLengthMin = 24;

/** Every setting of the console; the configuration table is generated from these. */
export const consoleSettings = {
  ...operatorSettings,
  LOG_LEVEL: commonSettings.LOG_LEVEL,
  CONSOLE_HOST: z
    .string()
    .default('127.0.0.1')
    .describe('Address to listen on; an address other than loopback requires `CONSOLE_TOKEN`'),
  CONSOLE_PORT: port.default(8081).describe('Port to listen on; 0 = any free port, which is logged'),
  CONSOLE_HOSTNAMES: z
    .string()
    .transform((value) => value.split(',').map((name) => name.trim().toLowerCase()))
    .default([])
    .describe(
      'Host names, separated by commas, at which browsers reach the console, in addition to `localhost` and IP addresses; it refuses other names',
    ),
  CONSOLE_TOKEN: z
    .string()
    .min(tokenLengthMin, `must have ${tokenLengthMin} characters or more`)
    .optional()
    .describe(
      'Token that every request must carry, as `Authorization: Bearer` (a proxy may add it), or as the password in the browser (with any user name)',
    )
    .meta(orFile),
};

export type ConsoleConfig = z.output<z.ZodObject<typeof consoleSettings>>;

export const readConsoleConfig = (environment: Environment) =>
  readConfig(consoleSettings, environment, (values) => [...kafkaRule(values), ...accessErrors(values)]);

/** Whether only programs on this machine reach an address. A name other than localhost may resolve to any address. */
const isLoopback = (host: string): boolean =>
  host === 'localhost' || (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback');

function accessErrors(values: Environment): string[] {
  const hasToken = variablesOf('CONSOLE_TOKEN', consoleSettings.CONSOLE_TOKEN).some((name) => values[name]);
  const host = values.CONSOLE_HOST ?? '127.0.0.1';
  if (isLoopback(host) || hasToken) return [];
  return [
    'CONSOLE_HOST: other machines could read the console without a password: set CONSOLE_TOKEN, or listen on 127.0.0.1',
  ];
}
