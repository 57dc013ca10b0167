import { MongoClient } from 'mongodb';
import { isTaken, valueError } from './connection-options.ts';
import { errorMessage } from './error-message.ts';
import { isReadable } from './is-readable.ts';

/** The pool size if the connection string has no `maxPoolSize`. */
export const poolSizeDefault = 20;

const fileOptions = ['tlsCAFile', 'tlsCRLFile', 'tlsCertificateKeyFile'];

/** The options that select secondaries. */
const secondaryOptions = ['maxStalenessSeconds', 'readPreferenceTags'];

const malformed = 'must be mongodb://user:password@host/?options, with each part percent-encoded';

/** The options that a connection string sets, by lower-case name. */
export function optionsIn(url: string): Map<string, string> {
  const options = new Map<string, string>();
  for (const [name, value] of parametersOf(url)) options.set(name.toLowerCase(), value);
  return options;
}

/** The options of a connection string as it writes their names. */
function parametersOf(url: string): URLSearchParams {
  const [, text = ''] = /\?([^?]*)$/.exec(url) ?? [];
  return new URLSearchParams(text);
}

/** The connection string without the options that select members for reads. */
export const withoutReadPreference = (url: string): string =>
  url.replace(/\?([^?]*)$/, (_, text: string) => {
    const isKept = (option: string) => !/^(readPreference(Tags)?|maxStalenessSeconds)=/i.test(option);
    return `?${text.split('&').filter(isKept).join('&')}`;
  });

/**
 * Returns the reason why the driver cannot use a connection string as it is written, or null. The reason names the
 * option, and never contains the password.
 */
export function connectionStringError(url: string): string | null {
  const urlOptions = optionsIn(url);
  try {
    const invalid = invalidOptionError(urlOptions);
    if (invalid !== null) return invalid;
    // The driver comes first: a name that it does not know may be a part of the password.
    const { options } = new MongoClient(url);
    return refusedOptionError(url) ?? combinationError(urlOptions, options);
  } catch (error) {
    // These messages repeat the hosts or the user. Without an @ the driver takes the password for a port.
    const message = errorMessage(error);
    // The driver knows this option, but takes it only from code.
    const refused = message.includes('must be an object') ? refusedOptionError(url) : null;
    if (refused !== null) return refused;
    return /^(Unable to parse|Username contains)/.test(message) ? malformed : `cannot be used: ${message}`;
  }
}

/** The first option whose value is invalid, or whose file cannot be read. */
function invalidOptionError(urlOptions: Map<string, string>): string | null {
  for (const [name, value] of urlOptions) {
    const error = valueError(name, value);
    if (error !== null) return error;
  }
  const unreadable = fileOptions.find((name) => {
    const path = urlOptions.get(name.toLowerCase());
    return path !== undefined && !isReadable(path);
  });
  return unreadable ? `the file of its option ${unreadable} cannot be read` : null;
}

function refusedOptionError(url: string): string | null {
  for (const name of parametersOf(url).keys()) {
    if (!isTaken(name.toLowerCase()))
      return `its option ${name} is refused: docs/mongodb.md lists the options to use`;
  }
  return null;
}

/** Faults that the driver finds only when it connects, or never. */
function combinationError(
  urlOptions: Map<string, string>,
  { minPoolSize, maxPoolSize, readPreference }: MongoClient['options'],
): string | null {
  // For the driver, a `maxPoolSize` of 0 is no limit.
  const limit = maxPoolSize === 0 ? Infinity : maxPoolSize;
  const sizeMax = urlOptions.has('maxpoolsize') ? limit : poolSizeDefault;
  if (minPoolSize > sizeMax)
    return `its option minPoolSize must not exceed maxPoolSize, which is ${poolSizeDefault} by default`;
  const ofSecondaries = secondaryOptions.find((name) => urlOptions.has(name.toLowerCase()));
  if (ofSecondaries && readPreference.mode === 'primary')
    return `its option ${ofSecondaries} needs a readPreference other than primary`;
  return null;
}
