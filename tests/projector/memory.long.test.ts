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
import { mebibyte, peakMegabytes } from '../support/memory.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { useProjector } from '../support/use-projector.ts';

type History = { open: string; unit: string; close: string };

/**
 * The JSON of a tag with the unknown field `history`, of about this size. The field is `open`, then `unit` as often as
 * it fits, then `close`.
 */
function tagWithHistory(bytes: number, { open, unit, close }: History): Buffer {
  const { value } = encode(created('tag', 'tag_1', { history: null }), 'structured');
  const [before = '', after = ''] = String(value).split('null');
  const repeatedUnits = Buffer.alloc(bytes - (bytes % Buffer.byteLength(unit)), unit);
  return Buffer.concat([Buffer.from(before + open), repeatedUnits, Buffer.from(close + after)]);
}

/** Compresses as a hostile producer may: each batch takes at most 1 MiB on the wire, which brokers accept. */
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
  const projectorTest = useProjector({ projectors: 0, each: true });

  /** Publishes one more record. Expects that a projector applies it, within the memory, after these dead letters. */
  const expectNextApplied = async (reasons: string[]) => {
    await projectorTest.publish(created('tag', 'tag_2'));
    const projector = projectorTest.startProcess({
      NODE_OPTIONS: '--max-old-space-size=256',
      LOG_LEVEL: 'warn',
    });
    await projectorTest.applied();
    expect((await projectorTest.deadLetters()).map((letter) => letter.reason)).toEqual(reasons);
    expect(await projectorTest.find('tag', 'tag_2')).not.toBeNull();
    expect(peakMegabytes(projector.child)).toBeLessThan(320);
  };
  // A list ends with 0, because `unit` ends with a comma.
  const emptyLists: History = { open: '[', unit: '[],', close: '0]' };
  const emptyObjects: History = { open: '[', unit: '{},', close: '0]' };
  const chineseText: History = { open: '"', unit: '語', close: '"' };
  const asciiText: History = { open: '"', unit: 'x', close: '"' };
  test.each<[string, Buffer, string | null]>([
    ['24 MiB of empty lists', tagWithHistory(24 * mebibyte, emptyLists), 'too_large'],
    ['16 MiB of empty objects', tagWithHistory(jsonBytesMax - 1_000, emptyObjects), 'too_large'],
    ['16 MiB of text', tagWithHistory(jsonBytesMax - 1_000, chineseText), null],
    [
      'a text that just fits into the largest batch',
      tagWithHistory(batchBytesMax - 2_000, asciiText),
      'too_large',
    ],
    [
      'a text three times as large as the largest batch',
      tagWithHistory(3 * batchBytesMax, asciiText),
      'undecodable',
    ],
  ])(
    'the projector stays below 320 MiB with a record of %s, and applies the next one',
    async (_, value, reason) => {
      const { CompressionTypes } = kafkajs;
      expect(gzipSync(value).length).toBeLessThan(mebibyte);
      const { key } = encode(created('tag', 'tag_1'), 'structured');
      await projectorTest.environment.producer.send({
        topic: projectorTest.topic('tag'),
        compression: CompressionTypes.GZIP,
        messages: [{ key, value }],
      });
      await expectNextApplied(reason ? [reason] : []);
    },
  );

  const zeros = (mebibytes: number) => Buffer.alloc(mebibytes * mebibyte);
  /** 63, just below the limit of a decompressed batch. */
  const mebibytesWithinLimit = batchBytesMax / mebibyte - 1;
  test.each<{ name: string; codec: keyof typeof compress; value: Buffer; reason: string }>([
    { name: '254 MiB of zeros in lz4', codec: 'LZ4', value: zeros(254), reason: 'undecodable' },
    { name: '63 MiB of zeros in lz4', codec: 'LZ4', value: zeros(mebibytesWithinLimit), reason: 'too_large' },
    {
      name: '63 MiB of zeros in gzip',
      codec: 'GZIP',
      value: zeros(mebibytesWithinLimit),
      reason: 'too_large',
    },
    {
      name: '63 MiB of zeros in zstd with a window of 128 MiB',
      codec: 'ZSTD',
      value: zeros(mebibytesWithinLimit),
      reason: 'too_large',
    },
    { name: '254 MiB of zeros in zstd', codec: 'ZSTD', value: zeros(254), reason: 'undecodable' },
    {
      name: 'blocks of five bytes in snappy',
      codec: 'Snappy',
      value: Buffer.alloc(400_000),
      reason: 'not_json',
    },
  ])(
    'the projector stays below 320 MiB with five batches of $name, three of them in one partition, and applies the next record',
    async ({ codec, value, reason }) => {
      const kindsOfBatches = ['tag', 'contact', 'user', 'tag', 'tag'] as const;
      await withCodec(codec, async (compression) => {
        for (const kind of kindsOfBatches)
          await projectorTest.environment.producer.send({
            topic: projectorTest.topic(kind),
            compression,
            messages: [{ key: 'tag_1', value }],
          });
      });
      await expectNextApplied(Array<string>(5).fill(reason));
    },
  );

  test('with half of that heap, the projector stays below 380 MiB for 200 records of 900 kB while MongoDB is slow', async () => {
    const { trouble: faults, listen, cut } = createStoreProxy(projectorTest.environment.config.MONGODB_URL);
    faults.delayMs = 50;
    const MONGODB_URL = proxiedUrl(await listen());
    const content = 'x'.repeat(900_000);
    for (let index = 0; index < 200; index += 1)
      await projectorTest.publish(created('message', `msg_${index}`, { content }));
    const NODE_OPTIONS = '--max-old-space-size=128';
    const projector = projectorTest.startProcess({ NODE_OPTIONS, MONGODB_URL });
    await projectorTest.applied();
    expect(await collectionOf(projectorTest.environment.database, 'message').countDocuments()).toBe(200);
    expect(peakMegabytes(projector.child)).toBeLessThan(380);
    await projector.stop();
    await cut();
  });
});

/** With the 11 kinds, the projector has 330 partitions. */
const partitionsPerTopic = 30;

describe('a projector of 330 partitions', () => {
  const projectorTest = useProjector({ projectors: 0, each: true, partitions: partitionsPerTopic });

  /** Publishes a batch of two records to a partition: 1.2 MB, which gzip compresses to 0.9 MB. */
  const publishBatch = (kind: Kind, partition: number) =>
    projectorTest.environment.producer.send({
      topic: projectorTest.topic(kind),
      compression: kafkajs.CompressionTypes.GZIP,
      messages: [0, 1].map((index) => ({
        ...encode(
          created(kind, `${kind}_${partition}_${index}`, { unknown: randomText(600_000) }),
          'structured',
        ),
        partition,
      })),
    });

  test('the projector stays below 320 MiB if each partition has a batch of 0.9 MB and MongoDB answers 1.5 s late', async () => {
    const { trouble: faults, listen, cut } = createStoreProxy(projectorTest.environment.config.MONGODB_URL);
    const MONGODB_URL = proxiedUrl(await listen());
    const projector = projectorTest.startProcess({ MONGODB_URL });
    await projectorTest.publish(created('tag', 'tag_1'));
    await projectorTest.applied();
    faults.delayMs = 1_500;
    for (let partition = 0; partition < partitionsPerTopic; partition += 1) {
      for (const kind of kinds) await publishBatch(kind, partition);
    }
    // The projector gets the time to fill its queues.
    await sleep(30_000);
    faults.delayMs = 0;
    await projectorTest.applied();
    expect(peakMegabytes(projector.child)).toBeLessThan(320);
    await projector.stop();
    await cut();
  });
});

/** Random base64 text of this length, which gzip shortens by only a quarter. */
const randomText = (length: number): string => randomBytes((length / 4) * 3).toString('base64');
