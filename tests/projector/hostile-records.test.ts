import kafkajs from 'kafkajs';
import { redriveSelected } from '../../services/operations/dead-letters/redrive-selected.ts';
import { batchBytesMax } from '../../shared/kafka/codecs.ts';
import { created } from '../support/entities.ts';
import { matching } from '../support/matchers.ts';
import { useProjector } from '../support/use-projector.ts';

const { environment, topic, publish, applied, find, deadLetters } = useProjector();

test('a batch that is too large to be decompressed is one dead letter', async () => {
  await environment.producer.send({
    topic: topic('tag'),
    messages: [{ key: 'tag_1', value: Buffer.alloc(batchBytesMax) }],
    compression: kafkajs.CompressionTypes.GZIP,
  });
  await publish(created('tag', 'tag_2'));
  await applied();
  expect(await find('tag', 'tag_2')).not.toBeNull();
  expect(await deadLetters()).toMatchObject([
    {
      reason: 'undecodable',
      detail: 'the batch of the record cannot be decompressed or decoded',
      partition: 0,
      offset: 0,
      orgId: null,
      undecodable: matching(/^the records of offsets 0 to 0 cannot be decoded: /),
    },
  ]);
  // A redrive refuses the dead letter.
  const deps = { ...environment, now: async () => new Date(), readRecords: null };
  const options = { dryRun: true, onProgress: () => undefined };
  const { refusals } = await redriveSelected(deps, { filter: {}, limit: 10 }, options);
  expect(refusals).toMatchObject([{ outcome: 'refused', reason: 'undecodable' }]);
});
