import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';

/** A connection of the driver, which emits `close` once it is lost, and then has the error. */
type Connection = EventEmitter & {
  error: Error | null;
  writeCommand: (command: unknown, options: unknown) => Promise<void>;
};

const require = createRequire(import.meta.url);
const { Connection } = require('mongodb/lib/cmap/connection') as { Connection: { prototype: Connection } };

/**
 * Corrects the driver (7.9): if the socket takes a command only in part, the driver waits for the socket's `drain` or
 * `error`. A socket that the server has just closed emits neither. The command would never end, whatever its time
 * limits, and keep its connection. With the patch it fails as any command whose connection is lost.
 */
export function patchConnections(): void {
  const { writeCommand } = Connection.prototype;
  if (writeCommand.name === 'writeUntilClosed') return;
  Connection.prototype.writeCommand = async function writeUntilClosed(this: Connection, command, options) {
    const lost = Promise.withResolvers<never>();
    const onClose = () => lost.reject(this.error);
    this.once('close', onClose);
    try {
      await Promise.race([writeCommand.call(this, command, options), lost.promise]);
    } finally {
      this.off('close', onClose);
    }
  };
}
