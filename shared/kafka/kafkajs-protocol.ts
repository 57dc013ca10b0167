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

/** The module of a request. `protocol` returns the function that creates the request in one version. */
type ProtocolModule<Input, Output> = {
  protocol: (options: { version: number }) => (input: Input) => ProtocolCall<Output>;
};

// An `import` would need types.
const require = createRequire(import.meta.url);
const KafkajsEncoder = require('kafkajs/src/protocol/encoder') as new () => Encoder;
const KafkajsDecoder = require('kafkajs/src/protocol/decoder') as new (payload: Buffer) => Decoder;

export const createEncoder = (): Encoder => new KafkajsEncoder();
export const createDecoder = (payload: Buffer): Decoder => new KafkajsDecoder(payload);

/** Returns a function that creates requests of one version. `folder` is the folder of the request in kafkajs. */
export function requestCreator<Input, Output>(
  folder: string,
  version: number,
): (input: Input) => ProtocolCall<Output> {
  const requests = require(`kafkajs/src/protocol/requests/${folder}`) as ProtocolModule<Input, Output>;
  return requests.protocol({ version });
}
