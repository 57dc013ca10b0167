import kafkajs from 'kafkajs';
import { varint } from '../../shared/kafka/record-format.ts';
import { compressors } from '../../infra/sample-data/codecs.ts';
import { batchBytesMax } from '../../shared/kafka/codecs.ts';
import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import { redrive } from '../../services/operations/dead-letters/redrive.ts';
import { engineDeps } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { useProjector } from '../support/use-projector.ts';

describe('a record that a producer may send, on a real broker', () => {
  const { environment, topic, publish, applied, find, deadLetters } = useProjector({ each: true });

  const isStored = async (id: string) => (await find('tag', id)) !== null;

  test('in a batch that is too large to be decompressed is part of one dead letter, and the next batch is applied', async () => {
    // given a producer whose record has more zeros than the limit
    const { CompressionCodecs, CompressionTypes } = kafkajs;
    const { [CompressionTypes.ZSTD]: codec } = CompressionCodecs;
    const record = [
      Buffer.alloc(3),
      varint(5),
      Buffer.from('tag_1'),
      varint(batchBytesMax),
      Buffer.alloc(batchBytesMax),
    ];
    const bytes = Buffer.concat([...record, varint(0)]);
    const compressed = await compressors.zstd(Buffer.concat([varint(bytes.length), bytes]));
    CompressionCodecs[CompressionTypes.ZSTD] = () => ({ compress: async () => compressed }) as never;
    const { producer } = environment;
    await producer
      .send({
        topic: topic('tag'),
        messages: [encode(created('tag', 'tag_1'), 'binary')],
        compression: CompressionTypes.ZSTD,
      })
      .finally(() => (CompressionCodecs[CompressionTypes.ZSTD] = codec));
    await publish(created('tag', 'tag_2'));
    await applied();
    expect(await isStored('tag_2')).toBe(true);
    const [deadLetter, ...others] = await deadLetters();
    expect(others).toEqual([]);
    expect(deadLetter).toMatchObject({ reason: 'undecodable', partition: 0, offset: 0, orgId: null });
    expect(deadLetter?.detail).toMatch(/^the records of offsets 0 to 0 cannot be decoded: /);
    // and a redrive refuses it, since only the head of the batch is stored
    expect(deadLetter?.truncated).toMatchObject({ keyBytes: 0, headersBytes: 0 });
    const { control, database, config } = environment;
    const deps = { ...engineDeps(mongoStore(database)), control, prefix: config.TOPIC_PREFIX, generation: 1 };
    expect(await redrive(deps, deadLetter ? [deadLetter] : [], { dryRun: true })).toMatchObject([
      {
        outcome: 'refused',
        reason: 'undecodable',
        detail: expect.stringMatching(/only the head of the batch/) as string,
      },
    ]);
  });
});
