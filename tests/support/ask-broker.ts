import { connect } from 'node:net';

export const int16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
};

export const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

/** Sends one request that kafkajs does not know. Resolves with the answer, from its correlation id on. */
export function askBroker(broker: string, request: Buffer): Promise<Buffer> {
  const { hostname, port } = new URL(`kafka://${broker}`);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const socket = connect(Number(port), hostname, () =>
    socket.write(Buffer.concat([int32(request.length), request])),
  );
  let received = Buffer.alloc(0);
  socket.on('error', reject);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (received.length < 4 || received.length < 4 + received.readInt32BE(0)) return;
    resolve(received.subarray(4));
    socket.destroy();
  });
  socket.on('close', () => reject(new Error('the broker has closed the connection')));
  return promise;
}
