import { pino, stdSerializers, type Logger } from 'pino';

export type { Logger };

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
    serializers: { error: stdSerializers.err },
    redact: {
      paths: [
        'authorization',
        '*.authorization',
        'headers.authorization',
        'own',
        '*.own',
        'value',
        '*.value',
      ],
      censor: '[redacted]',
    },
  });
