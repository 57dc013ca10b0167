import { MongoClient } from 'mongodb';
import { isTaken, valueError } from './connection-options.ts';
import { errorMessage } from './error-message.ts';
import { isReadable } from './is-readable.ts';

/** The pool size if the connection string has no `maxPoolSize`. */
export const poolSizeDefault = 20;

const fileOptions = ['tlsCAFile', 'tlsCRLFile', 'tlsCertificateKeyFile'];

const malformed = 'must be mongodb://user:password@host/?options, with each part percent-encoded';

/** The options that a connection string sets, by lower-case name. */
export const givenOptions = (url: string): Map<string, string> =>
  new Map(writtenOptions(url).map(([name, value]) => [name.toLowerCase(), value]));

function writtenOptions(url: string): [name: string, value: string][] {
  const [, text = ''] = /\?([^?]*)$/.exec(url) ?? [];
  return [...new URLSearchParams(text)];
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
  const given = givenOptions(url);
  try {
    const optionError = givenError(given);
    if (optionError !== null) return optionError;
    // The driver comes first: a name that it does not know may be a part of the password.
    const { options } = new MongoClient(url);
    return refusedOptionError(url) ?? combinationError(given, options);
  } catch (error) {
    // These messages repeat the hosts or the user. Without an @ the driver takes the password for a port.
    const message = errorMessage(error);
    // The driver knows this option, but takes it only from code.
    const refused = message.includes('must be an object') ? refusedOptionError(url) : null;
    if (refused !== null) return refused;
    return /^(Unable to parse|Username contains)/.test(message) ? malformed : `cannot be used: ${message}`;
  }
}

function givenError(given: Map<string, string>): string | null {
  for (const [name, value] of given) {
    const error = valueError(name, value);
    if (error !== null) return error;
  }
  const unreadable = fileOptions.find((name) => {
    const path = given.get(name.toLowerCase());
    return path !== undefined && !isReadable(path);
  });
  return unreadable ? `the file of its option ${unreadable} cannot be read` : null;
}

function refusedOptionError(url: string): string | null {
  const refused = writtenOptions(url).find(([name]) => !isTaken(name.toLowerCase()));
  return refused ? `its option ${refused[0]} is refused: docs/mongodb.md lists the options to use` : null;
}

/** Faults that the driver finds only when it connects, or never. */
function combinationError(
  given: Map<string, string>,
  { minPoolSize, maxPoolSize, readPreference }: MongoClient['options'],
): string | null {
  const sizeMax = given.has('maxpoolsize') ? maxPoolSize || Infinity : poolSizeDefault;
  if (minPoolSize > sizeMax)
    return `its option minPoolSize must not exceed maxPoolSize, which is ${poolSizeDefault} by default`;
  const ofSecondaries = ['maxStalenessSeconds', 'readPreferenceTags'].find((name) =>
    given.has(name.toLowerCase()),
  );
  if (ofSecondaries && readPreference.mode === 'primary')
    return `its option ${ofSecondaries} needs a readPreference other than primary`;
  return null;
}
