import { pino, stdSerializers, type Logger } from 'pino';

export type { Logger };

/** Tokens of API keys and addresses of people, also within a text such as an error's. */
const secrets =
  /\b[A-Za-z][A-Za-z0-9-]{0,31}_(?:live|test)_[^\s"'\\,;)]+|[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g;

/** Every secret has one of these in it. Looking for them is a hundred times cheaper than the expression. */
const signs = ['@', '_live_', '_test_'];

/** A log line without what must not be in it, whatever field or message it got into. */
export const scrubbed = (line: string): string =>
  signs.some((sign) => line.includes(sign)) ? line.replace(secrets, '[redacted]') : line;

/**
 * What a log line says of an error. Its other fields are left out: a driver puts what it was sent into them,
 * which are whole documents of customers. Of a bulk write that failed in parts, how many failed with which code.
 */
export function loggedError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { type, message, stack } = stdSerializers.err(error);
  const { code, writeErrors = [] } = error as { code?: unknown; writeErrors?: unknown };
  const refused: Record<string, number> = {};
  for (const one of [writeErrors].flat() as { code: number }[]) {
    refused[one.code] = (refused[one.code] ?? 0) + 1;
  }
  return {
    ...{ type, message, stack },
    ...(typeof code === 'number' || typeof code === 'string' ? { code } : {}),
    ...(Object.keys(refused).length > 0 ? { refused } : {}),
    ...(error instanceof AggregateError ? { errors: error.errors.map(loggedError) } : {}),
  };
}

/**
 * A JSON logger on stdout. Messages name ids and positions, never contents; what could carry a secret or
 * personal data by accident is censored by path.
 */
export const createLogger = (service: string, level: string): Logger =>
  pino({
    level,
    base: { service },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { error: loggedError },
    hooks: { streamWrite: scrubbed },
    redact: {
      paths: [
        'authorization',
        '*.authorization',
        'headers.authorization',
        'state',
        '*.state',
        'value',
        '*.value',
        'content',
        '*.content',
        'email',
        '*.email',
      ],
      censor: '[redacted]',
    },
  });
