import { createRequire } from 'node:module';

/*
 * The parts of kafkajs 2.2.4 that encode requests, decode responses and send both. The package exports no types for
 * them.
 */

export type Encoder = {
  writeInt32: (value: number) => Encoder;
  writeBoolean: (value: boolean) => Encoder;
  writeBuffer: (bytes: Buffer) => Encoder;
  writeString: (value: string) => Encoder;
  writeArray: (items: Encoder[]) => Encoder;
  writeUVarInt: (value: number) => Encoder;
  writeUVarIntString: (value: string) => Encoder;
  writeUVarIntArray: (items: Encoder[]) => Encoder;
};

export type Decoder = {
  buffer: Buffer;
  offset: number;
  readInt16: () => number;
  readInt32: () => number;
  readInt64: () => bigint;
  readString: () => string;
  readArray: <T>(read: (decoder: Decoder) => T) => T[];
  readUVarInt: () => number;
  readUVarIntString: () => string | null;
  readUVarIntArray: <T>(read: (decoder: Decoder) => T) => T[] | null;
};

/** A connected broker. */
export type Broker = {
  versions: Record<number, { maxVersion: number }> | null;
  connectionPool: { send: <T>(call: ProtocolCall<T>) => Promise<T> };
};

/** A request, and the functions that read its response. `parse` throws the errors in it. */
export type ProtocolCall<T> = {
  request: { apiKey: number; apiVersion: number; apiName: string; encode: () => Promise<object> };
  response: { decode: (payload: Buffer) => Promise<T>; parse: (decoded: T) => Promise<T> };
};

const require = createRequire(import.meta.url);
const KafkajsEncoder = require('kafkajs/src/protocol/encoder') as new () => Encoder;
const KafkajsDecoder = require('kafkajs/src/protocol/decoder') as new (payload: Buffer) => Decoder;

export const createEncoder = (): Encoder => new KafkajsEncoder();
export const createDecoder = (payload: Buffer): Decoder => new KafkajsDecoder(payload);

/** The function that creates a request of kafkajs, by the folder of the request and its version. */
export function requestOf<Request, Response>(name: string, version: number) {
  const { protocol } = require(`kafkajs/src/protocol/requests/${name}`) as {
    protocol: (options: { version: number }) => (request: Request) => ProtocolCall<Response>;
  };
  return protocol({ version });
}
