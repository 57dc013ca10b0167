import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { createLogClient } from '../../services/projector/kafka/log-client.ts';
import { createKafka } from '../../services/projector/kafka/client.ts';
import { watermark } from '../../shared/control/progress.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';

const rounds = 10;

describe('a partition that is added while projectors run', () => {
  const { environment, topic, find, start } = useProjector({ each: true, projectors: 0 });

  const add = (count: number) =>
    environment.admin.createPartitions({ topicPartitions: [{ topic: topic('tag'), count }] });
  /** Publishes with a producer that has not seen the topic before. */
  const publish = async (id: string, partition: number, time: Date) => {
    const messages = [{ ...encode({ ...created('tag', id), time }, 'binary'), partition }];
    for (let accepted = 0; accepted === 0;) {
      const producer = environment.kafka.producer({ allowAutoTopicCreation: false });
      await producer.connect();
      // kafkajs drops the record, without an error, if the broker that it asked did not know the partition yet.
      accepted = (await producer.send({ topic: topic('tag'), messages })).length;
      await producer.disconnect();
    }
  };

  test('is known as soon as a record of it was accepted', async () => {
    const log = createLogClient(createKafka(environment.config, pino({ level: 'silent' })));
    await log.connect();
    const ends = new Map<number, number | undefined>();
    for (let partition = 1; partition <= rounds; partition += 1) {
      await add(partition + 1);
      await publish(`tag_${partition}`, partition, new Date());
      ends.set(partition, (await log.read([topic('tag')])).ends.get(`${topic('tag')}/${partition}`)?.end);
    }
    await log.disconnect();
    expect([...ends.values()]).toEqual(Array.from({ length: rounds }, () => 1));
  });

  test.each([0, 5])(
    'holds the watermark back until its events are applied, with an allowance of %s s',
    async (allowanceSeconds) => {
      const projector = await start({ settings: { LATENESS_ALLOWANCE_SECONDS: allowanceSeconds } });
      const completeToMs = async () => (await watermark(environment.control, 1))?.getTime() ?? 0;
      const isApplied = async (id: string) => (await find('tag', id)) !== null;
      await eventually(async () => (await completeToMs()) > 0);
      const early: object[] = [];
      for (let round = 1; round <= rounds; round += 1) {
        const id = `tag_${round}`;
        // given an event that is published within the allowance of its time
        const time = new Date(Date.now() + (allowanceSeconds === 0 ? 5_000 : 0));
        await add(round + 1);
        await publish(id, round, time);
        if (allowanceSeconds === 0) expect(Date.now()).toBeLessThan(time.getTime());
        // when the watermark is read again and again until it has passed that time
        for (let servedMs = 0; servedMs < time.getTime(); await sleep(5)) {
          servedMs = await completeToMs();
          if (servedMs >= time.getTime() && !(await isApplied(id))) early.push({ round, servedMs, time });
        }
      }
      expect(early).toEqual([]);
      expect(projector.fatal).toEqual([]);
    },
    300_000,
  );
});
