import { pino } from 'pino';
import { createTopics } from '../../services/operations/topics/create-topics.ts';
import { readLogGaps } from '../../shared/control/log-gaps.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';

describe('a projector whose topic is deleted', () => {
  const options = { projectors: 0, partitions: 2 };
  const { environment, publish, applied, find, topic, start, status } = useProjector(options);

  test('applies the other topics without a restart, and ends once the topic is created again', async () => {
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
    const running = await start({ logger });
    await publish(created('tag', 'tag_before'), created('contact', 'con_before'));
    await applied();
    await environment.admin.deleteTopics({ topics: [topic('tag')] });
    await eventually(async () => (await status()).includes('topics are gone'));
    await publish(created('contact', 'con_after'));
    await eventually(async () => (await find('contact', 'con_after')) !== null);
    const text = await status();
    expect(text).toMatch(new RegExp(`topics are gone.*${topic('tag')}`));
    expect(text).not.toContain('no projector has run');
    expect(lines.filter((line) => line.includes('restarts'))).toEqual([]);
    expect(running.livenessFailure()).toBeNull();
    expect(running.fatal).toEqual([]);
    // The records of a topic that is created again belong to another topic.
    await createTopics(environment.admin, environment.config.TOPIC_PREFIX, { partitions: 2 });
    await eventually(() => running.fatal.length > 0);
    const gaps = await readLogGaps(environment.control, 1);
    expect(new Set(gaps.map((gap) => `${gap.topic} ${gap.kind}`))).toEqual(
      new Set([`${topic('tag')} replaced`]),
    );
  });
});
