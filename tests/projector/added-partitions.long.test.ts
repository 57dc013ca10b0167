import { pino } from 'pino';
import { createKafka } from '../../shared/kafka/client.ts';
import { createLogClient } from '../../shared/kafka/log-client.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';

const rounds = 10;

describe('a partition that is added while projectors run', () => {
  const { environment, topic, start, applied, find, sendToAdded } = useProjector({ projectors: 0 });

  test('is read as soon as a broker has accepted a record for the partition', async () => {
    await start();
    await applied();
    const log = createLogClient(createKafka(environment.config, pino({ level: 'silent' })));
    await log.connect();
    const ends = new Map<number, number | undefined>();
    for (let partition = 1; partition <= rounds; partition += 1) {
      const topicPartitions = [{ topic: topic('tag'), count: partition + 1 }];
      await environment.admin.createPartitions({ topicPartitions });
      await sendToAdded('tag', { ...encode(created('tag', `tag_${partition}`), 'binary'), partition });
      ends.set(partition, (await log.read([topic('tag')])).ends.get(`${topic('tag')}/${partition}`)?.end);
    }
    await log.disconnect();
    expect([...ends.values()]).toEqual(Array.from({ length: rounds }, () => 1));
    await eventually(async () => (await find('tag', `tag_${rounds}`)) !== null);
  });
});
