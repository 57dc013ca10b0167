import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { topicOf } from '../../services/projector/events/topics.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { startService } from '../support/service.ts';
import { applied, createTestEnvironment } from '../support/test-environment.ts';

/** Sets the clock of a process back by an hour when it receives a signal. */
const preload = `
  const RealDate = Date;
  let stepMs = 0;
  globalThis.Date = class extends RealDate {
    constructor(...given) { given.length === 0 ? super(RealDate.now() + stepMs) : super(...given); }
    static now() { return RealDate.now() + stepMs; }
  };
  process.on('SIGUSR2', () => { stepMs = -3_600_000; });
`;

test('a projector whose clock is set back by an hour stays in its group and goes on committing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'support-read-models-clock-'));
  const testEnvironment = await createTestEnvironment(1);
  const { admin, config } = testEnvironment;
  const topic = topicOf('tag', config.TOPIC_PREFIX);
  await writeFile(join(folder, 'clock.mjs'), preload);
  const projector = startService('projector', {
    ...testEnvironment.environment,
    LOG_LEVEL: 'info',
    KAFKA_SESSION_TIMEOUT_MS: '2000',
    NODE_OPTIONS: `--import=${join(folder, 'clock.mjs')}`,
  });
  const publish = (id: string) =>
    testEnvironment.producer.send({ topic, messages: [encode(created('tag', id), 'binary')] });
  const joins = () => projector.log.filter(({ msg }) => msg === 'joined the group').length;
  const isCommitted = async (offset: number) => {
    const [found] = await admin.fetchOffsets({ groupId: config.CONSUMER_GROUP, topics: [topic] });
    return Number(found?.partitions[0]?.offset) === offset;
  };
  // given a projector that has committed
  await publish('tag_1');
  await applied(testEnvironment);
  await eventually(() => isCommitted(1));
  // when its clock is set back, and twice its session has passed
  projector.child.kill('SIGUSR2');
  const sinceMs = performance.now();
  while (performance.now() < sinceMs + 4_000) {
    const { groups } = await admin.describeGroups([config.CONSUMER_GROUP]);
    expect(groups[0]?.members).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  // then it is still a member, and commits
  await publish('tag_2');
  await eventually(() => isCommitted(2));
  expect(joins()).toBe(1);
  await projector.stop();
  await testEnvironment.close();
  await rm(folder, { recursive: true });
}, 60_000);
