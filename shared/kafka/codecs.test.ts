import { gzipSync, zstdCompressSync } from 'node:zlib';
import snappy from 'snappy';
import { compressors } from '../../infra/sample-data/codecs.ts';
import { createRandom } from '../../tests/support/random.ts';
import { batchBytesMax, type Decompress, decompressors } from './codecs.ts';

const names = Object.keys(decompressors) as (keyof typeof decompressors)[];
const compress = { ...compressors, gzip: async (content: Buffer) => gzipSync(content) };
const decompress: Record<(typeof names)[number], Decompress> = decompressors;
const long = Buffer.from(Array.from({ length: 40_000 }, (_, index) => `record ${index * 7919}`).join('\n'));

test.each(names)('%s rejects bytes of another format and truncated bytes', async (name) => {
  const batch = await compress[name](long);
  for (const content of [Buffer.from('no such thing'), batch.subarray(0, batch.length - 30)])
    await expect(decompress[name](content, batchBytesMax)).rejects.toThrow();
});

test.each(names)('%s rejects a batch that would grow beyond the limit', async (name) => {
  const compressed = await compress[name](Buffer.alloc(100_000));
  await expect(decompress[name](compressed, 99_999)).rejects.toThrow();
  expect(await decompress[name](compressed, 100_000)).toHaveLength(100_000);
});

// Written by the codecs of the Java client and by the lz4, zstd and snappy programs, not by the code under test.
test.each([
  ['gzip', 'Java', '1f8b08000000000000ffcb48cdc9c957c8209604006a762cb92f000000'],
  ['snappy', 'Java', '82534e415050590000000001000000010000000b2f1468656c6c6f20a20600'],
  ['snappy', 'C, one bare block', '2f1468656c6c6f20a20600'],
  ['lz4', 'Java', '04224d18604082100000006f68656c6c6f200600115068656c6c6f00000000'],
  [
    'lz4',
    'C, all checksums',
    '04224d187440bd100000006f68656c6c6f200600115068656c6c6f8610ecb700000000a8f4e0c1',
  ],
  ['zstd', 'Java', '28b52ffd00586400003068656c6c6f200100029522010000'],
  ['zstd', 'C, with checksum', '28b52ffd04586500003068656c6c6f2001000295225ab1761b'],
] as const)('a %s batch written in %s is decompressed', async (name, _, hex) => {
  const content = await decompress[name](Buffer.from(hex, 'hex'), batchBytesMax);
  expect(content.toString()).toBe('hello hello hello hello hello hello hello hello');
});

// A broker also reads only the first frame of lz4, and refuses a batch whose records do not fit into that frame.
test('streams of several frames are read whole', async () => {
  const first = Buffer.from('first '.repeat(20_000));
  const second = Buffer.from('second');
  const both = Buffer.concat([first, second]).toString();
  const snappyParts = [await compress.snappy(first), await compress.snappy(second)];
  const inFrames = {
    snappy: Buffer.concat(snappyParts),
    zstd: Buffer.concat([zstdCompressSync(first), zstdCompressSync(second)]),
    gzip: Buffer.concat([await compress.gzip(first), await compress.gzip(second)]),
  };
  for (const name of ['snappy', 'zstd', 'gzip'] as const) {
    const read = await decompress[name](inFrames[name], batchBytesMax);
    expect(read.toString() === both).toBe(true);
  }
});

/** Contents of many shapes: long and short matches, near and far ones, literals alone, and nothing. */
function createShapes(): Buffer[] {
  const { int } = createRandom(7);
  const bytes = (count: number, values: number) =>
    Buffer.from(Array.from({ length: count }, () => int(values)));
  const shapes = [long];
  for (const size of [0, 1, 5, 15, 16, 17, 31, 32, 33, 60, 61, 300, 5_000, 70_000, 200_000])
    shapes.push(bytes(size, 256), bytes(size, 2), bytes(size, 12));
  for (const period of [1, 2, 3, 7, 8, 9, 40]) shapes.push(Buffer.alloc(100_003, bytes(period, 256)));
  return shapes;
}

test.each([
  { format: 'lz4', name: 'lz4' as const, write: compress.lz4 },
  { format: 'framed snappy', name: 'snappy' as const, write: compress.snappy },
  { format: 'bare snappy', name: 'snappy' as const, write: (content: Buffer) => snappy.compress(content) },
])('$format of any shape is read as a library has written it', async ({ name, write }) => {
  for (const shape of createShapes()) {
    const read = await decompress[name](await write(shape), batchBytesMax);
    expect(read.equals(shape)).toBe(true);
  }
});

test.each(['lz4', 'snappy'] as const)('%s with a changed byte is read or rejected', async (name) => {
  const { int } = createRandom(11);
  const batch = await compress[name](long.subarray(0, 3_000));
  for (let round = 0; round < 5_000; round += 1) {
    const content = Buffer.from(batch);
    content[int(content.length)] = int(256);
    const outcome = await decompress[name](content, 10_000).catch((error: unknown) => error);
    if (Buffer.isBuffer(outcome)) expect(outcome.length).toBeLessThanOrEqual(10_000);
    else expect(outcome).toMatchObject({ name: 'RangeError' });
  }
});

test('lz4 reads stored blocks, and blocks that refer to the block before', async () => {
  const content =
    '04224d184040c0' + '05000080' + '68656c6c6f' + '0a000000' + '10200600' + '5068656c6c6f' + '00000000';
  const read = await decompress.lz4(Buffer.from(content, 'hex'), batchBytesMax);
  expect(read.toString()).toBe('hello hellhello');
});

test.each([
  ['a frame of the legacy format', '02214c18'],
  ['a frame to be skipped', '502a4d1800000000'],
  ['a frame that needs a dictionary', '04224d1861400000000000'],
  ['a block larger than its frame allows', `04224d18604082${'ffff0180'}${'00'.repeat(0x1ffff)}00000000`],
  ['a size that its blocks do not have', '04224d186840050000000000000000' + '01000080' + '41' + '00000000'],
  [
    'a distance before the output',
    '04224d18604082' + '0a000000' + '10410200' + '5041414141' + '41' + '00000000',
  ],
])('lz4 with %s is rejected, as Java clients reject it', async (_, hex) => {
  const content = Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(8)]);
  await expect(decompress.lz4(content, batchBytesMax)).rejects.toThrow('its lz4 content is damaged');
});

test('a bare snappy block is read', async () => {
  expect((await decompress.snappy(await snappy.compress(long), batchBytesMax)).equals(long)).toBe(true);
});

test('a bare snappy block that claims four gigabytes is rejected before memory is reserved', async () => {
  const claim = Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0x41]);
  await expect(decompress.snappy(claim, batchBytesMax)).rejects.toThrow('snappy content takes more than');
});
