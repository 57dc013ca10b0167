import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { constants, createZstdCompress, gzip, gzipSync } from 'node:zlib';
import kafkajs, { type CompressionTypes } from 'kafkajs';
import lz4 from 'lz4-napi';
import snappy from 'snappy';
import { jsonBytesMax } from '../../services/projector/events/bytes.ts';
import { type Kind, kinds } from '../../shared/documents/resources.ts';
import { batchBytesMax } from '../../shared/kafka/codecs.ts';
import { header as snappyHeader } from '../../shared/kafka/snappy.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { peakMegabytes } from '../support/memory.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { useProjector } from '../support/use-projector.ts';

const megabyte = 1024 * 1024;

/** The event of a tag with an unknown field, of about this size. */
function hostile(bytes: number, open: string, unit: string, close: string): Buffer {
  const { value } = encode(created('tag', 'tag_1', { history: null }), 'structured');
  const [before = '', after = ''] = String(value).split('null');
  const units = Buffer.alloc(bytes - (bytes % Buffer.byteLength(unit)), unit);
  return Buffer.concat([Buffer.from(before + open), units, Buffer.from(close + after)]);
}

/** Compresses as a hostile producer may: each batch takes at most a megabyte on the wire, which brokers accept. */
const compress = {
  GZIP: (content: Buffer) => promisify(gzip)(content),
  LZ4: (content: Buffer) => lz4.compressFrame(content),
  ZSTD: (content: Buffer) => {
    const engine = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: 27 } });
    engine.end(content);
    return buffer(engine);
  },
  Snappy: async (content: Buffer) => {
    const blocks: Buffer[] = [snappyHeader];
    for (let start = 0; start < content.length; start += 5) {
      const block = snappy.compressSync(content.subarray(start, start + 5));
      blocks.push(Buffer.from([0, 0, 0, block.length]), block);
    }
    return Buffer.concat(blocks);
  },
};

/** Replaces a codec of kafkajs while `send` runs. */
async function withCodec(name: keyof typeof compress, send: (type: CompressionTypes) => Promise<void>) {
  const { CompressionCodecs, CompressionTypes } = kafkajs;
  const type = CompressionTypes[name];
  const before = CompressionCodecs[type];
  CompressionCodecs[type] = () => ({
    compress: async (encoder: { buffer: Buffer }) => compress[name](encoder.buffer),
    decompress: (content: Buffer) => Promise.resolve(content),
  });
  await send(type);
  CompressionCodecs[type] = before;
}

describe('a projector with the heap that Node takes in a container of 512 MiB', () => {
  const at = useProjector({ projectors: 0, each: true });

  test.each<[string, Buffer, string | null]>([
    ['24 MB of empty lists', hostile(24 * megabyte, '[', '[],', '0]'), 'too_large'],
    ['16 MB of empty objects', hostile(jsonBytesMax - 1_000, '[', '{},', '0]'), 'too_large'],
    ['16 MB of text', hostile(jsonBytesMax - 1_000, '"', '語', '"'), null],
    ['a text as large as a batch may be', hostile(batchBytesMax - 2_000, '"', 'x', '"'), 'too_large'],
    ['a text larger than a batch may be', hostile(3 * batchBytesMax, '"', 'x', '"'), 'undecodable'],
  ])('stays below 320 MB with a record of %s, and applies the next one', async (_, value, reason) => {
    const { CompressionTypes } = kafkajs;
    expect(gzipSync(value).length).toBeLessThan(megabyte);
    const { key } = encode(created('tag', 'tag_1'), 'structured');
    await at.environment.producer.send({
      topic: at.topic('tag'),
      compression: CompressionTypes.GZIP,
      messages: [{ key, value }],
    });
    await at.publish(created('tag', 'tag_2'));
    const projector = at.startProcess({ NODE_OPTIONS: '--max-old-space-size=256', LOG_LEVEL: 'warn' });
    await at.applied();
    expect((await at.deadLetters()).map((letter) => letter.reason)).toEqual(reason ? [reason] : []);
    expect(await at.find('tag', 'tag_2')).not.toBeNull();
    expect(peakMegabytes(projector.child)).toBeLessThan(320);
  });

  const zeros = (megabytes: number) => Buffer.alloc(megabytes * megabyte);
  /** Just within the limit of a decompressed batch. */
  const megabytesWithinLimit = batchBytesMax / megabyte - 1;
  test.each<{ name: string; codec: keyof typeof compress; value: Buffer; reason: string }>([
    { name: '254 MB of zeros in lz4', codec: 'LZ4', value: zeros(254), reason: 'undecodable' },
    { name: '63 MB of zeros in lz4', codec: 'LZ4', value: zeros(megabytesWithinLimit), reason: 'too_large' },
    {
      name: '63 MB of zeros in gzip',
      codec: 'GZIP',
      value: zeros(megabytesWithinLimit),
      reason: 'too_large',
    },
    {
      name: '63 MB of zeros in zstd with a window as large',
      codec: 'ZSTD',
      value: zeros(megabytesWithinLimit),
      reason: 'too_large',
    },
    { name: '254 MB of zeros in zstd', codec: 'ZSTD', value: zeros(254), reason: 'undecodable' },
    {
      name: 'blocks of five bytes in snappy',
      codec: 'Snappy',
      value: Buffer.alloc(400_000),
      reason: 'not_json',
    },
  ])(
    'stays below 320 MB with three batches of $name in a row, and applies the next',
    async ({ codec, value, reason }) => {
      const topics = ['tag', 'contact', 'user'] as const;
      await withCodec(codec, async (compression) => {
        for (const kind of [...topics, 'tag', 'tag'] as const)
          await at.environment.producer.send({
            topic: at.topic(kind),
            compression,
            messages: [{ key: 'tag_1', value }],
          });
      });
      await at.publish(created('tag', 'tag_2'));
      const projector = at.startProcess({ NODE_OPTIONS: '--max-old-space-size=256', LOG_LEVEL: 'warn' });
      await at.applied();
      expect((await at.deadLetters()).map((letter) => letter.reason)).toEqual(Array(5).fill(reason));
      expect(await at.find('tag', 'tag_2')).not.toBeNull();
      expect(peakMegabytes(projector.child)).toBeLessThan(320);
    },
  );

  test('with half of that heap takes bounded memory for 200 records of 900 KB while MongoDB is slow', async () => {
    const { trouble, listen, cut } = createStoreProxy(at.environment.config.MONGODB_URL);
    trouble.delayMs = 50;
    const MONGODB_URL = proxiedUrl(await listen());
    const content = 'x'.repeat(900_000);
    for (let index = 0; index < 200; index += 1)
      await at.publish(created('message', `msg_${index}`, { content }));
    const NODE_OPTIONS = '--max-old-space-size=128';
    const projector = at.startProcess({ NODE_OPTIONS, MONGODB_URL });
    await at.applied();
    expect(await collectionOf(at.environment.database, 'message').countDocuments()).toBe(200);
    expect(peakMegabytes(projector.child)).toBeLessThan(380);
    await projector.stop();
    await cut();
  });
});

describe('a projector of 330 partitions', () => {
  const partitions = 30;
  const at = useProjector({ projectors: 0, each: true, partitions });

  /** Publishes a batch of two records to a partition: 1.2 MB, and 0.9 MB once compressed. */
  const publishBatch = (kind: Kind, partition: number) =>
    at.environment.producer.send({
      topic: at.topic(kind),
      compression: kafkajs.CompressionTypes.GZIP,
      messages: [0, 1].map((index) => ({
        ...encode(created(kind, `${kind}_${partition}_${index}`, { unknown: noise(600_000) }), 'structured'),
        partition,
      })),
    });

  test('takes less than 320 MB if each has a batch of 0.9 MB and MongoDB answers 1.5 s late', async () => {
    const { trouble, listen, cut } = createStoreProxy(at.environment.config.MONGODB_URL);
    const MONGODB_URL = proxiedUrl(await listen());
    const projector = at.startProcess({ MONGODB_URL });
    await at.publish(created('tag', 'tag_1'));
    await at.applied();
    trouble.delayMs = 1_500;
    for (let partition = 0; partition < partitions; partition += 1)
      for (const kind of kinds) await publishBatch(kind, partition);
    // Meanwhile it fetches as much as it may.
    await sleep(30_000);
    trouble.delayMs = 0;
    await at.applied();
    expect(peakMegabytes(projector.child)).toBeLessThan(320);
    await projector.stop();
    await cut();
  });
});

/** A text of this length that hardly compresses. */
const noise = (length: number): string => randomBytes((length / 4) * 3).toString('base64');
