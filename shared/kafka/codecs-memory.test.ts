import { execFile } from 'node:child_process';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { constants, createZstdCompress, gzipSync, zstdCompressSync } from 'node:zlib';
import lz4 from 'lz4-napi';
import snappy from 'snappy';
import { mallocSettings } from '../../infra/service.ts';
import type { Measured } from '../../tests/support/measure-codec.ts';
import { mebibyte } from '../../tests/support/memory.ts';
import { batchBytesMax } from './codecs.ts';
import { header as snappyHeader } from './snappy.ts';

const zeros = (bytes: number) => Buffer.alloc(bytes);
const times = (count: number, part: Buffer) => Buffer.alloc(count * part.length, part);
const uint32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};

/** Decompresses in a process of its own, whose peak of memory no other test has raised. */
async function measure(codec: string, content: Buffer): Promise<Measured> {
  const program = 'tests/support/measure-codec.ts';
  const env = { ...process.env, ...mallocSettings };
  const running = promisify(execFile)(process.execPath, [program, codec], { encoding: 'utf8', env });
  running.child.stdin?.end(content);
  return JSON.parse((await running).stdout) as Measured;
}

/** The header of an LZ4 frame with blocks of 64 KB and further flags. */
const lz4Header = (flags = 0, ...fields: Buffer[]) =>
  Buffer.concat([Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60 | flags, 0x40]), ...fields, Buffer.from([0])]);
const lz4Frame = (...blocks: Buffer[]) => Buffer.concat([lz4Header(), ...blocks, uint32(0)]);
const lz4Stored = (bytes: Buffer) => Buffer.concat([uint32(0x80000000 + bytes.length), bytes]);
/** A block of one literal, and a match of zeros that fills 64 KB. */
const lz4Zeros = (() => {
  const matchBytes = 64 * 1024 - 1 - 5;
  const lengths = Buffer.alloc(Math.floor((matchBytes - 19) / 255), 0xff);
  const lastLength = Buffer.from([(matchBytes - 19) % 255]);
  const lastLiterals = Buffer.from([0x50, 0, 0, 0, 0, 0]);
  const block = Buffer.concat([Buffer.from([0x1f, 0, 1, 0]), lengths, lastLength, lastLiterals]);
  return Buffer.concat([uint32(block.length), block]);
})();

/** Blocks of snappy in the framing of Java clients. */
const framed = (count: number, block: Buffer) =>
  Buffer.concat([snappyHeader, times(count, Buffer.concat([uint32(block.length).swap32(), block]))]);
const snappyZeros = (bytes: number) => snappy.compressSync(zeros(bytes));
/** A block of snappy that claims a size, as an unsigned varint of five bytes, and has one literal. */
const snappyClaim = (bytes: number) => {
  const claim = [0, 7, 14, 21].map((bits) => 0x80 | ((bytes >>> bits) & 0x7f));
  return Buffer.from([...claim, bytes >>> 28, 0, 0x41]);
};

/** A frame without its size, which needs a window as large as the output. */
async function zstdStream(bytes: number): Promise<Buffer> {
  const stream = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: 27 } });
  stream.write(zeros(bytes));
  stream.end();
  return buffer(stream);
}

const tooLarge = (codec: string) =>
  `its ${codec} content takes more than ${batchBytesMax} bytes decompressed`;
const aboveLimit = batchBytesMax + 1;

describe('a batch at the limit needs memory for one copy of its output', () => {
  const half = batchBytesMax / 2;
  test.each<[string, string, () => Buffer | Promise<Buffer>]>([
    ['gzip', 'gzip', () => gzipSync(zeros(batchBytesMax))],
    ['gzip of two members', 'gzip', () => times(2, gzipSync(zeros(half)))],
    ['bare snappy', 'snappy', () => snappyZeros(batchBytesMax)],
    ['framed snappy', 'snappy', () => framed(2_048, snappyZeros(32 * 1_024))],
    ['snappy with many headers', 'snappy', () => times(2_048, framed(1, snappyZeros(32 * 1_024)))],
    ['lz4', 'lz4', () => lz4Frame(times(1_024, lz4Zeros))],
    ['lz4 of dependent blocks of 4 MiB', 'lz4', () => lz4.compressFrame(zeros(batchBytesMax))],
    ['zstd', 'zstd', () => zstdCompressSync(zeros(batchBytesMax))],
    ['zstd of two frames', 'zstd', () => times(2, zstdCompressSync(zeros(half)))],
  ])('in %s', async (_, codec, content) => {
    const { outcome, megabytes } = await measure(codec, await content());
    expect(outcome).toBe(batchBytesMax);
    expect(megabytes).toBeLessThan(64 + 16);
  });

  test('zstd with a window of that size needs memory for two copies', async () => {
    const { outcome, megabytes } = await measure('zstd', await zstdStream(batchBytesMax));
    expect(outcome).toBe(batchBytesMax);
    expect(megabytes).toBeLessThan(128 + 16);
  });
});

describe('a batch beyond the limit is rejected before its output is allocated', () => {
  test.each<[string, string, () => Buffer | Promise<Buffer>]>([
    ['bare snappy, one byte above', 'snappy', () => snappyZeros(aboveLimit)],
    ['snappy that claims four gigabytes', 'snappy', () => snappyClaim(2 ** 32 - 1)],
    [
      'framed snappy, one byte above',
      'snappy',
      () => Buffer.concat([framed(2_048, snappyZeros(32 * 1_024)), framed(1, snappyZeros(1))]),
    ],
    ['lz4, one byte above', 'lz4', () => lz4Frame(times(1_024, lz4Zeros), lz4Stored(zeros(1)))],
    ['lz4 of 254 MiB', 'lz4', () => lz4.compressFrame(zeros(254 * mebibyte))],
    ['lz4 of a gigabyte', 'lz4', () => lz4Frame(times(16 * 1_024, lz4Zeros))],
  ])('in %s', async (_, codec, content) => {
    const { outcome, megabytes } = await measure(codec, await content());
    expect(outcome).toBe(tooLarge(codec));
    expect(megabytes).toBeLessThan(16);
  });
});

// These formats do not state the size of their output in advance.
describe('a batch of unknown size is rejected once its output passes the limit', () => {
  test.each<{ name: string; codec: string; content: () => Buffer | Promise<Buffer>; megabytesMax: number }>([
    {
      name: 'gzip, one byte above',
      codec: 'gzip',
      content: () => gzipSync(zeros(aboveLimit)),
      megabytesMax: 64,
    },
    {
      name: 'gzip of a gigabyte',
      codec: 'gzip',
      content: () => times(16, gzipSync(zeros(batchBytesMax))),
      megabytesMax: 64,
    },
    {
      name: 'gzip whose end claims one byte',
      codec: 'gzip',
      content: () => Buffer.concat([gzipSync(zeros(batchBytesMax)), gzipSync(zeros(1))]),
      megabytesMax: 64,
    },
    {
      name: 'zstd, one byte above',
      codec: 'zstd',
      content: () => zstdCompressSync(zeros(aboveLimit)),
      megabytesMax: 64,
    },
    {
      name: 'zstd of a gigabyte',
      codec: 'zstd',
      content: () => times(16, zstdCompressSync(zeros(batchBytesMax))),
      megabytesMax: 64,
    },
    {
      name: 'zstd with a window of 128 MiB',
      codec: 'zstd',
      content: () => zstdStream(2 * batchBytesMax),
      megabytesMax: 128,
    },
  ])('in $name', async ({ codec, content, megabytesMax }) => {
    const { outcome, megabytes } = await measure(codec, await content());
    expect(outcome).toBe(tooLarge(codec));
    expect(megabytes).toBeLessThan(megabytesMax + 16);
  });
});

describe('a mebibyte of small parts takes no more memory than its output', () => {
  const oneByte = Buffer.from([1, 0, 0x41]);
  test.each<{ name: string; codec: string; content: Buffer; expected: number | string }>([
    { name: 'snappy blocks', codec: 'snappy', content: framed(150_000, oneByte), expected: 150_000 },
    { name: 'snappy headers', codec: 'snappy', content: times(65_000, snappyHeader), expected: 0 },
    {
      name: 'lz4 blocks',
      codec: 'lz4',
      content: lz4Frame(times(150_000, Buffer.from([2, 0, 0, 0, 0x10, 0x41]))),
      expected: 150_000,
    },
    {
      name: 'stored lz4 blocks',
      codec: 'lz4',
      content: lz4Frame(times(200_000, lz4Stored(zeros(1)))),
      expected: 200_000,
    },
    { name: 'gzip members', codec: 'gzip', content: times(50_000, gzipSync(zeros(0))), expected: 0 },
    { name: 'zstd frames', codec: 'zstd', content: times(100_000, zstdCompressSync(zeros(0))), expected: 0 },
    {
      name: 'snappy that claims 64 MiB',
      codec: 'snappy',
      content: snappyClaim(batchBytesMax),
      expected: 'its snappy content is damaged',
    },
    {
      name: 'lz4 that claims 2^63 bytes',
      codec: 'lz4',
      content: Buffer.concat([lz4Header(0x08, uint32(0), uint32(2 ** 31)), lz4Stored(zeros(1)), uint32(0)]),
      expected: 'its lz4 content is damaged',
    },
  ])('in $name', async ({ codec, content, expected }) => {
    const { outcome, megabytes } = await measure(codec, content);
    expect(outcome).toBe(expected);
    expect(megabytes).toBeLessThan(16);
  });
});
