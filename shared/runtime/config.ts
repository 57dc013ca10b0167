import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';

export type Environment = Record<string, string | undefined>;

/** A configuration with warnings about misspelt variables, or all errors. Each line names its variable. */
export type ConfigResult<T> = { config: T; warnings?: string[] } | { errors: string[] };

/**
 * Reads the variables of `settings` from `environment`. `check` returns the errors of rules that concern several
 * variables. No error repeats a value, since it may be a secret.
 */
export function readConfig<S extends z.ZodRawShape>(
  settings: S,
  environment: Environment,
  check: (given: Environment) => string[] = () => [],
): ConfigResult<z.output<z.ZodObject<S>>> {
  const given: Environment = {};
  for (const name of Object.keys(settings)) {
    if (environment[name]) given[name] = environment[name];
  }
  const parsed = z.object(settings).safeParse(given, { error: messageOf });
  const errors = parsed.success
    ? []
    : parsed.error.issues.map(({ path, message }) => {
        const name = String(path[0]);
        return given[name] === undefined ? `${name} is not set` : `${name}: ${message}`;
      });
  errors.push(...check(given));
  const warnings = misspeltIn(environment, Object.keys(settings));
  return parsed.success && errors.length === 0
    ? { config: parsed.data, warnings }
    : { errors: [...errors, ...warnings] };
}

/** The most characters in which a misspelt name differs from the name of a setting. */
const misspellingMax = 2;
/** Shorter names resemble too many variables of other programs. */
const misspeltLengthMin = 8;

/** Warns of variables whose names nearly match a setting: a misspelt setting would silently keep its default. */
const misspeltIn = (environment: Environment, names: string[]): string[] =>
  Object.keys(environment).flatMap((name) => {
    if (names.includes(name) || name.length < misspeltLengthMin || !environment[name]) return [];
    const near = closest(name, names);
    return distance(name, near) <= misspellingMax ? `${name} is not a setting; did you mean ${near}?` : [];
  });

/** The message of an issue whose schema has no message of its own. */
function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'too_small') return `must be ${issue.minimum} or more`;
  if (issue.code === 'too_big') return `must be ${issue.maximum} or less`;
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
  if (issue.code !== 'invalid_type') return undefined;
  return issue.expected === 'int' ? 'must be a whole number' : `must be a ${issue.expected}`;
}

/** A SASL mechanism needs a user name and a password. Every service that connects to Kafka checks this. */
export const saslRule = (given: Environment): string[] =>
  given.KAFKA_SASL_MECHANISM
    ? ['KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD']
        .filter((name) => !given[name])
        .map((name) => `${name} is not set, but KAFKA_SASL_MECHANISM is`)
    : [];

/** For a `main`: returns the configuration and prints its warnings, or prints the errors and exits with code 2. */
export function configOrExit<T>(result: ConfigResult<T>): T {
  if ('config' in result) {
    for (const warning of result.warnings ?? []) process.stderr.write(`Warning: ${warning}\n`);
    return result.config;
  }
  process.stderr.write(`Bad configuration:\n${result.errors.map((error) => `  ${error}\n`).join('')}`);
  return process.exit(2);
}
