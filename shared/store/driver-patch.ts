import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import type { Document } from 'mongodb';

/** A connection of the driver, which emits `close` once it is lost, and then has the error. */
type Connection = EventEmitter & {
  error: Error | null;
  writeCommand: (command: unknown, options: unknown) => Promise<void>;
};

/** A reply to a cursor of the driver, with documents that it decodes on demand. */
type CursorResponse = {
  cursor: OnDemand;
  batch: OnDemand;
  /** How many documents were taken. */
  iterated: number;
  /** All of them; set by the patch. */
  decoded?: Document[];
  shift: (options?: object) => Document | null;
};
type OnDemand = { toObject: (options?: object) => Document; toBytes: () => Uint8Array };

const require = createRequire(import.meta.url);
const { Connection } = require('mongodb/lib/cmap/connection') as { Connection: { prototype: Connection } };
const { CursorResponse } = require('mongodb/lib/cmap/wire_protocol/responses') as {
  CursorResponse: { prototype: CursorResponse };
};

/**
 * Mends the driver (7.9): if the socket takes a command only in part, the driver waits for the socket's `drain` or
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

/** A larger reply is decoded one document at a time, so that it takes little more memory than its bytes. */
const wholeBytesMax = 1024 * 1024;

/**
 * Decodes a reply of a cursor at once. For each document, the driver (7.9) creates an index of its fields and a copy of
 * its options: a twelfth of the bytes that a projector allocates for a backlog.
 */
export function patchReplies(): void {
  const { shift } = CursorResponse.prototype;
  if (shift.name === 'shiftDecoded') return;
  CursorResponse.prototype.shift = function shiftDecoded(this: CursorResponse, options) {
    if (this.batch.toBytes().length > wholeBytesMax) return shift.call(this, options);
    if (!this.decoded) {
      const { firstBatch, nextBatch } = this.cursor.toObject(options);
      this.decoded = (firstBatch ?? nextBatch) as Document[];
    }
    return this.decoded[this.iterated++] ?? null;
  };
}
