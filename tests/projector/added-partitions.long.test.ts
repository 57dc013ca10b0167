import { pino } from 'pino';
import { createKafka } from '../../shared/kafka/client.ts';
import { createLogClient } from '../../shared/kafka/log-client.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';

const rounds = 10;

describe('a partition that is added while projectors run', () => {
  const { environment, topic, start, applied, find } = useProjector({ projectors: 0 });

  /** Publishes with a producer that has not seen the topic before. */
  const publish = async (partition: number) => {
    const messages = [{ ...encode(created('tag', `tag_${partition}`), 'binary'), partition }];
    for (let accepted = 0; accepted === 0;) {
      const producer = environment.kafka.producer({ allowAutoTopicCreation: false });
      await producer.connect();
      // kafkajs drops the record, without an error, if the broker that it asked did not know the partition yet.
      accepted = (await producer.send({ topic: topic('tag'), messages })).length;
      await producer.disconnect();
    }
  };

  test('is read as soon as a broker has accepted a record for the partition', async () => {
    await start();
    await applied();
    const log = createLogClient(createKafka(environment.config, pino({ level: 'silent' })));
    await log.connect();
    const ends = new Map<number, number | undefined>();
    for (let partition = 1; partition <= rounds; partition += 1) {
      const topicPartitions = [{ topic: topic('tag'), count: partition + 1 }];
      await environment.admin.createPartitions({ topicPartitions });
      await publish(partition);
      ends.set(partition, (await log.read([topic('tag')])).ends.get(`${topic('tag')}/${partition}`)?.end);
    }
    await log.disconnect();
    expect([...ends.values()]).toEqual(Array.from({ length: rounds }, () => 1));
    await eventually(async () => (await find('tag', `tag_${rounds}`)) !== null);
  });
});
