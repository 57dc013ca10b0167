import { readFileSync } from 'node:fs';
import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { createLogOutput } from './log-output.ts';
import { createLogger } from './logger.ts';

export type Environment = Record<string, string | undefined>;

/** The paths of the files from which settings were read (`<NAME>_FILE`). The keys are the names of the settings. */
export type SettingFiles = Readonly<Record<string, string>>;

/** A configuration with warnings about misspelt variables, or all errors. Each line names its variable. */
export type ConfigResult<T> =
  { config: T & { files: SettingFiles }; warnings?: string[] } | { errors: string[] };

/**
 * Reads the variables of `settings` from `environment`. `check` returns the errors of rules that concern several
 * variables. No error repeats a value, since it may be a secret.
 */
export function readConfig<S extends z.ZodRawShape>(
  settings: S,
  environment: Environment,
  check: (values: Environment) => string[] = () => [],
): ConfigResult<z.output<z.ZodObject<S>>> {
  const { values, files, fileErrors } = readValues(settings, environment);
  const parsed = z.object(settings).safeParse(values, { error: messageOf });
  const errors = [...fileErrors.values()];
  for (const error of [...issueTexts(parsed.error, values), ...check(values)]) {
    // The name of a variable begins each error.
    const [name = ''] = error.split(/[: ]/, 1);
    if (!fileErrors.has(name)) errors.push(error);
  }
  const warnings = misspellingWarnings(environment, variableNames(settings));
  if (!parsed.success || errors.length > 0) return { errors: [...errors, ...warnings] };
  return { config: { ...parsed.data, files }, warnings };
}

/** One line for each value that its schema refuses. */
function issueTexts(error: z.ZodError | undefined, values: Environment): string[] {
  const issues = error?.issues ?? [];
  return issues.map(({ path, message }) => {
    const name = String(path[0]);
    return values[name] === undefined ? `${name} is not set` : `${name}: ${message}`;
  });
}

/** The mark of a setting, usually a secret, that a file may contain: `<NAME>_FILE` then names the file. */
export const orFile = { orFile: true };

/** The variables that set a setting: `NAME`, and `NAME_FILE` if a file may contain it. */
export const variablesOf = (name: string, setting: z.core.$ZodType): string[] =>
  z.globalRegistry.get(setting)?.orFile === true ? [name, `${name}_FILE`] : [name];

export const variableNames = (settings: z.ZodRawShape): string[] =>
  Object.entries(settings).flatMap(([name, setting]) => variablesOf(name, setting));

/**
 * The values of the settings, from variables and from files, with the paths of these files and the errors of reading
 * them. An empty or blank variable counts as absent.
 */
function readValues(settings: z.ZodRawShape, environment: Environment) {
  const values: Environment = {};
  const files: Record<string, string> = {};
  const fileErrors = new Map<string, string>();
  for (const [name, setting] of Object.entries(settings)) {
    const [value, file] = variablesOf(name, setting).map((variable) => environment[variable]?.trim());
    if (value) values[name] = value;
    if (!file) continue;
    if (value) fileErrors.set(name, `${name} and ${name}_FILE are both set`);
    else {
      files[name] = file;
      values[name] = readSettingFile(file);
      if (!values[name]) fileErrors.set(name, `${name}_FILE: the file cannot be read, or is empty`);
    }
  }
  return { values, files, fileErrors };
}

/**
 * The text of a file without the blanks and line breaks around it, which editors add; undefined if it cannot be read.
 */
export function readSettingFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** A variable counts as misspelt if its name differs from that of a setting by at most this many characters. */
const misspellingMax = 2;
/** Shorter names are not checked, because they resemble too many variables of other programs. */
const misspeltLengthMin = 8;

/** Warns of variables whose names nearly match a setting: a misspelt setting would silently keep its default. */
function misspellingWarnings(environment: Environment, names: string[]): string[] {
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(environment)) {
    const isChecked = name.length >= misspeltLengthMin && !names.includes(name);
    if (!isChecked || !value?.trim()) continue;
    const near = closest(name, names);
    if (distance(name, near) > misspellingMax) continue;
    warnings.push(`${name} is not a setting; did you mean ${near}?`);
  }
  return warnings;
}

/** The message of an issue whose schema has no message of its own. */
function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'too_small') return `must be ${issue.minimum} or more`;
  if (issue.code === 'too_big') return `must be ${issue.maximum} or less`;
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
  if (issue.code !== 'invalid_type') return undefined;
  return issue.expected === 'int' ? 'must be a whole number' : `must be a ${issue.expected}`;
}

/**
 * For a `main`: returns the configuration and prints its warnings, or prints the errors and exits with code 2. Warnings
 * that cannot be written do not stop a service.
 */
export function configOrExit<T>(result: ConfigResult<T>, service?: string): T & { files: SettingFiles } {
  if (process.stderr.listenerCount('error') === 0) process.stderr.on('error', () => undefined);
  const print = service === undefined || process.stderr.isTTY ? asText : asLog(service);
  if ('config' in result) {
    for (const warning of result.warnings ?? []) print.warning(warning);
    return result.config;
  }
  print.errors(result.errors);
  return process.exit(2);
}

/** How a `main` prints the warnings and errors of its configuration. */
type ConfigPrinter = { warning: (text: string) => void; errors: (errors: string[]) => void };

const asText: ConfigPrinter = {
  warning: (text) => {
    process.stderr.write(`Warning: ${text}\n`);
  },
  errors: (errors) => {
    process.stderr.write(`Bad configuration:\n${errors.map((error) => `  ${error}\n`).join('')}`);
  },
};

/** A collector of logs reads one JSON object from each line of a service. */
function asLog(service: string): ConfigPrinter {
  const logger = createLogger(service, 'warn', createLogOutput({ stream: 'stderr' }));
  return {
    warning: (text) => logger.warn(text),
    errors: (errors) => logger.fatal({ errors }, 'bad configuration'),
  };
}
