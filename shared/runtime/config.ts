import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';

export type Environment = Record<string, string | undefined>;

/** A configuration with the variables that look misspelt, or all faults; a line each, which names the variable. */
export type ConfigResult<T> = { config: T; warnings?: string[] } | { faults: string[] };

/**
 * Reads the variables that `settings` names from `environment`. A rule across variables is checked by
 * `check`, whose lines join the faults. Values are never repeated in a fault: they may be secrets.
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
  const parsed = z.object(settings).safeParse(given, { error: wording });
  const faults = parsed.success
    ? []
    : parsed.error.issues.map(({ path, message }) => {
        const name = String(path[0]);
        return given[name] === undefined ? `${name} is not set` : `${name}: ${message}`;
      });
  faults.push(...check(given));
  const warnings = misspeltIn(environment, Object.keys(settings));
  return parsed.success && faults.length === 0
    ? { config: parsed.data, warnings }
    : { faults: [...faults, ...warnings] };
}

/** Letters that two names may differ in for one to be taken for a misspelling of the other. */
const misspellingMax = 2;
/** Shorter names resemble too many of other programs. */
const misspeltLengthMin = 8;

/** The set variables that are no settings, but nearly: a misspelt one would leave its default in force unnoticed. */
const misspeltIn = (environment: Environment, names: string[]): string[] =>
  Object.keys(environment).flatMap((name) => {
    if (names.includes(name) || name.length < misspeltLengthMin || !environment[name]) return [];
    const near = closest(name, names);
    return distance(name, near) <= misspellingMax ? `${name} is no setting; did you mean ${near}?` : [];
  });

/** The rule that a value breaks, where its schema does not word it itself. */
function wording(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'too_small') return `must be ${issue.minimum} or more`;
  if (issue.code === 'too_big') return `must be ${issue.maximum} or less`;
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
  if (issue.code !== 'invalid_type') return undefined;
  return issue.expected === 'int' ? 'must be a whole number' : `must be a ${issue.expected}`;
}

/** The rule that holds wherever Kafka is configured. */
export const saslRule = (given: Environment): string[] =>
  given.KAFKA_SASL_MECHANISM
    ? ['KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD']
        .filter((name) => !given[name])
        .map((name) => `${name} is not set, but KAFKA_SASL_MECHANISM is`)
    : [];

/** For a `main`: the configuration, warnings on stderr; or the faults on stderr and exit code 2. */
export function configOrExit<T>(result: ConfigResult<T>): T {
  if ('config' in result) {
    for (const warning of result.warnings ?? []) process.stderr.write(`Warning: ${warning}\n`);
    return result.config;
  }
  process.stderr.write(`Bad configuration:\n${result.faults.map((fault) => `  ${fault}\n`).join('')}`);
  return process.exit(2);
}
