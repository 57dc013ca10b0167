import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { BSON } from 'mongodb';

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
 * limits, and keep its connection. The patch makes it fail like any command on a lost connection.
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

const { ByteUtils } = BSON.onDemand;

/** The driver reads texts of up to this many bytes one byte at a time. */
const shortBytesMax = 20;
/** The character with which the driver replaces bytes that are not valid text. */
const replacement = '\uFFFD';
/** The number of slots for known short texts, one for each hash. A power of two. */
const shortTextsMax = 4_096;

/**
 * Makes the driver (bson 7.3) decode texts with less garbage. It collects the bytes of each short text in an array,
 * which is half of the garbage of a list: the patch keeps known short texts, such as names of fields. For long texts
 * the driver compares each character with the replacement character: the patch searches for it once.
 */
export function patchTexts(): void {
  const { toUTF8 } = ByteUtils;
  if (toUTF8.name === 'findOrRead') return;
  const known = Array<string>(shortTextsMax).fill('');
  ByteUtils.toUTF8 = function findOrRead(bytes, start, end, fatal) {
    if (end - start > shortBytesMax) {
      const text = toUTF8(bytes, start, end, false);
      return fatal && text.includes(replacement) ? toUTF8(bytes, start, end, true) : text;
    }
    let hash = 0;
    for (let at = start; at < end; at += 1) hash = (Math.imul(hash, 31) + (bytes[at] ?? 0)) | 0;
    const place = hash & (shortTextsMax - 1);
    const text = known[place] ?? '';
    if (isText(text, bytes, start, end)) return text;
    const decoded = toUTF8(bytes, start, end, fatal);
    known[place] = decoded;
    return decoded;
  };
}

/** Whether the bytes are this text in ASCII. A text with other characters is read again each time. */
function isText(text: string, bytes: Uint8Array, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let at = 0; at < text.length; at += 1) {
    const byte = bytes[start + at] ?? 0;
    if (byte > 127 || text.charCodeAt(at) !== byte) return false;
  }
  return true;
}
