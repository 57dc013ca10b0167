import { type Logger, pino, stdSerializers } from 'pino';
import { errorChain } from './error-message.ts';
import { createLogOutput } from './log-output.ts';
import { release } from './release.ts';

export type { Logger };

const jsonEscape = String.raw`\\(?:u[0-9a-f]{4}|.)`;
const token = String.raw`(?:\b|(?<=${jsonEscape}))[A-Za-z][A-Za-z0-9-]{0,31}_(?:live|test)_[^\s"'\\,;)]+`;
const address = String.raw`[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}`;

/**
 * Tokens of API keys and email addresses, also within a text such as an error message. The pattern matches an escape of
 * JSON first, because its letter does not belong to a secret that follows.
 */
const escapesAndSecrets = new RegExp(`${jsonEscape}|${token}|${address}`, 'g');
const withoutSecret = (found: string): string => (found.startsWith('\\') ? found : '[redacted]');

/** Every secret contains one of these. Searching for them is a hundred times cheaper than the expression. */
const markers = ['@', '_live_', '_test_'];

/** Removes secrets from every field and message of a log line. */
export const scrubbed = (line: string): string =>
  markers.some((marker) => line.includes(marker)) ? line.replace(escapesAndSecrets, withoutSecret) : line;

/**
 * The fields of an error that are logged. Its other fields are left out, since the MongoDB driver puts whole documents
 * of customers into them. For a bulk write, `refused` counts the failed writes by error code.
 */
export function loggedError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { type, stack } = stdSerializers.err(error);
  const { code, writeErrors = [] } = error as { code?: unknown; writeErrors?: unknown };
  const refused: Record<string, number> = {};
  for (const { code: writeCode } of [writeErrors].flat() as { code: number }[]) {
    refused[writeCode] = (refused[writeCode] ?? 0) + 1;
  }
  const logged: Record<string, unknown> = { type, message: messageWithCauses(error), stack };
  if (typeof code === 'number' || typeof code === 'string') logged.code = code;
  if (Object.keys(refused).length > 0) logged.refused = refused;
  if (error instanceof AggregateError) logged.errors = error.errors.map(loggedError);
  return logged;
}

/** The messages of an error and of its causes, each once: an error with its fix repeats that of its cause. */
const messageWithCauses = (error: Error): string =>
  errorChain(error.cause).reduce(
    (text, { message }) => (text.includes(message) ? text : `${text}: ${message}`),
    error.message,
  );

const redacted = ['authorization', 'state', 'value', 'content', 'email'];

/**
 * Creates a JSON logger on stdout. Messages name ids and positions, never contents. Fields that could contain a secret
 * or personal data by accident are redacted by path.
 */
export function createLogger(service: string, level: string, output = createLogOutput()): Logger {
  const logger = pino(
    {
      level,
      base: { service, release },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: loggedError },
      hooks: { streamWrite: scrubbed },
      redact: { paths: redacted.flatMap((name) => [name, `*.${name}`]), censor: '[redacted]' },
    },
    output,
  );
  output.onRecovery((lines) => logger.warn({ lines }, 'log lines were lost: stdout did not take them'));
  return logger;
}
