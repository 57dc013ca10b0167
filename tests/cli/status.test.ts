import { ConfigResourceTypes } from 'kafkajs';
import { dayMs } from '../../shared/documents/retention.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import type { Status } from '../../services/cli/status/read.ts';
import { readTopicSettings } from '../../services/cli/status/topic-settings.ts';
import { createRig, type Rig } from '../support/projectors.ts';
import { startService } from '../support/service.ts';

describe('the topics that the cli creates and looks at', () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await createRig(1);
  }, 60_000);
  afterAll(() => rig.close(), 60_000);

  const cli = async (environment: Record<string, string>, ...words: string[]) => {
    const service = startService('cli', { ...rig.environment, LOG_LEVEL: 'error', ...environment }, words);
    expect([await service.exited, service.stderr()]).toEqual([0, '']);
    return service.stdout();
  };
  const warnings = async (environment: Record<string, string> = {}) =>
    (JSON.parse(await cli(environment, 'status', '--json')) as Status).warnings;
  const change = async (topic: string, name: string, value: string) => {
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries: [{ name, value }] }];
    await rig.admin.alterConfigs({ validateOnly: false, resources });
  };

  test('are compacted, and keep tombstones for a week', async () => {
    const settings = await readTopicSettings(rig.admin, rig.topics);
    expect(settings.map(({ topic }) => topic).toSorted()).toEqual(rig.topics.toSorted());
    for (const { cleanupPolicy, deleteRetentionMs } of settings)
      expect([cleanupPolicy, deleteRetentionMs]).toEqual(['compact', 7 * dayMs]);
    expect(await warnings()).toEqual([]);
  }, 60_000);

  test('are warned of where a rebuild may take longer than they keep tombstones, as text too', async () => {
    expect(await warnings({ REBUILD_DAYS_MAX: '7.5' })).toHaveLength(rig.topics.length);
    const text = await cli({ REBUILD_DAYS_MAX: '7.5' }, 'status');
    const tags = topicOf('tag', rig.config.TOPIC_PREFIX);
    expect(text).toMatch(new RegExp(`^warning +${tags}: drops tombstones after 7 days`, 'm'));
  }, 60_000);

  test('are warned of where they are not compacted', async () => {
    const tags = topicOf('tag', rig.config.TOPIC_PREFIX);
    await change(tags, 'cleanup.policy', 'delete');
    expect(await warnings()).toEqual([expect.stringContaining(`${tags}: is not compacted`)]);
  }, 60_000);
});
