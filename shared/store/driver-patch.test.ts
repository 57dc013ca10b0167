import { createRequire } from 'node:module';
import { BSON, type Document, Long } from 'mongodb';
import { patchReplies } from './driver-patch.ts';

type Reply = { length: number; shift: (options?: object) => Document | null; clear: () => void };

const require = createRequire(import.meta.url);
const { CursorResponse } = require('mongodb/lib/cmap/wire_protocol/responses') as {
  CursorResponse: new (bytes: Uint8Array) => Reply;
};
patchReplies();

/** A reply as the driver receives it. */
const replyOf = (name: 'firstBatch' | 'nextBatch', documents: Document[]): Reply =>
  new CursorResponse(BSON.serialize({ cursor: { [name]: documents, id: 0n, ns: 'a.b' }, ok: 1 }));

const documents = (count: number, text = '') =>
  Array.from({ length: count }, (_, index) => ({
    _id: String(index),
    at: new Date(index),
    state: { numbers: [index, 2 ** 40, 0.5, null], long: Long.fromNumber(index), text },
  }));

/** `documents`, as the driver decodes them. */
const decoded = (given: Document[]) => given.map((one) => BSON.deserialize(BSON.serialize(one)));

describe.each([
  ['a small reply', ''],
  // 10 documents of more than 1 MB together are decoded one by one.
  ['a large reply', 'x'.repeat(200_000)],
])('%s', (_, text) => {
  it.each(['firstBatch', 'nextBatch'] as const)('gives the documents of its %s in order, once', (name) => {
    const given = documents(10, text);
    const reply = replyOf(name, given);
    expect(reply.length).toBe(10);
    const taken = Array.from({ length: 10 }, () => reply.shift());
    expect(taken).toEqual(decoded(given));
    expect(reply.length).toBe(0);
    expect(reply.shift()).toBeNull();
  });

  it('gives none after it was cleared', () => {
    const reply = replyOf('firstBatch', documents(10, text));
    expect(reply.shift()).not.toBeNull();
    reply.clear();
    expect(reply.length).toBe(0);
    expect(reply.shift()).toBeNull();
  });

  it('is decoded by the options of its cursor', () => {
    const reply = replyOf('firstBatch', documents(1, text.repeat(6)));
    const { state } = reply.shift({ promoteLongs: false }) as { state: { long: unknown } };
    expect(state.long).toEqual(Long.fromNumber(0));
  });
});

it('an empty reply gives no document', () => {
  expect(replyOf('firstBatch', []).shift()).toBeNull();
});
