import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';

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

const { environment, publish, applied, committed, startProcess } = useProjector({ projectors: 0 });

test('a projector whose clock is set back by an hour stays in its group and continues to commit', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'support-read-models-clock-'));
  await writeFile(join(folder, 'clock.mjs'), preload);
  const projector = startProcess({
    KAFKA_SESSION_TIMEOUT_MS: '2000',
    NODE_OPTIONS: `--import=${join(folder, 'clock.mjs')}`,
  });
  const joins = () => projector.log.filter(({ msg }) => msg === 'joined the group').length;
  // given a projector that has committed
  await publish(created('tag', 'tag_1'));
  await applied();
  await eventually(async () => (await committed('tag')) === 1);
  // when its clock is set back, and twice its session has passed
  projector.child.kill('SIGUSR2');
  const sinceMs = performance.now();
  while (performance.now() < sinceMs + 4_000) {
    const { groups } = await environment.admin.describeGroups([environment.config.CONSUMER_GROUP]);
    expect(groups[0]?.members).toHaveLength(1);
    await sleep(100);
  }
  // then it is still a member, and commits
  await publish(created('tag', 'tag_2'));
  await eventually(async () => (await committed('tag')) === 2);
  expect(joins()).toBe(1);
  await projector.stop();
  await rm(folder, { recursive: true });
});
