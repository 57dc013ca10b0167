import { isIP } from 'node:net';
import { connect } from 'node:tls';
import type { ISocketFactory } from 'kafkajs';
import { type Environment, readSettingFile, type SettingFiles } from '../runtime/config.ts';
import { errorMessage } from '../runtime/error-message.ts';
import type { Logger } from '../runtime/logger.ts';
import { certificateErrors, tlsNames } from '../runtime/settings.ts';

/** The delay before TCP keep-alive, in milliseconds, as in the socket factory of kafkajs. */
const keepAliveDelayMs = 60_000;

/**
 * Returns a function that reads the certificates of KAFKA_TLS_CA_FILE, KAFKA_TLS_CERT_FILE and KAFKA_TLS_KEY_FILE
 * again. If a file is missing or invalid, or the certificate does not match its key, the function returns the former
 * values of all three, because an operator may replace the files one after the other. `initial` has the values at the
 * start, by setting.
 */
export function createCertificateReader(initial: Environment, files: SettingFiles, logger: Logger) {
  let inUse = initial;
  let rejectedReason: string | null = null;
  const readFiles = (): Environment => {
    const latest = { ...initial };
    for (const name of tlsNames) {
      const file = files[name];
      if (file === undefined) continue;
      latest[name] = readSettingFile(file);
      if (!latest[name]) throw new Error(`${name}_FILE: the file cannot be read, or is empty`);
    }
    const [error] = certificateErrors(latest);
    if (error !== undefined) throw new Error(error);
    return latest;
  };
  return (): Environment => {
    try {
      const latest = readFiles();
      if (tlsNames.some((name) => latest[name] !== inUse[name]))
        logger.info('new certificates in use for connections to the brokers');
      inUse = latest;
      rejectedReason = null;
    } catch (error) {
      const reason = errorMessage(error);
      if (reason !== rejectedReason)
        logger.error({ reason }, 'new certificates for the brokers rejected; keeping the current ones');
      rejectedReason = reason;
    }
    return inUse;
  };
}

/**
 * Opens TLS connections to the brokers, each with the certificates that `readCertificates` returns at that moment.
 * kafkajs itself would use the certificates of the start forever.
 */
export const createSocketFactory =
  (readCertificates: () => Environment): ISocketFactory =>
  ({ host, port, onConnect }) => {
    const { KAFKA_TLS_CA: ca, KAFKA_TLS_CERT: cert, KAFKA_TLS_KEY: key } = readCertificates();
    const name = isIP(host) === 0 ? { servername: host } : {};
    const socket = connect({ host, port, ...name, ca, cert, key }, onConnect);
    return socket.setKeepAlive(true, keepAliveDelayMs);
  };
