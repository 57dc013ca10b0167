import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startScript } from '../../infra/service.ts';
import { createTopics } from '../../services/operations/topics/create-topics.ts';
import { readLogGaps } from '../../shared/control/log-gaps.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { topicsOf } from '../../shared/kafka/topics.ts';
import { randomHistory } from '../convergence/history.ts';
import { nextRelease } from '../rebuild/next-release.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import {
  type ClusterNode,
  electPreferredLeaders,
  kafkaTool,
  placements,
  reassign,
  uncleanElection,
  untilInSync,
  untilOut,
} from '../support/kafka-cluster.ts';
import { logEnds, reached } from '../support/progress.ts';
import { useBrokerFaults } from './use-broker-faults.ts';
import { seed, shortSession } from './use-fault-servers.ts';

/** A build of the projector that does not know leader epochs, and saves positions without them. */
const withoutEpochs = {
  file: 'services/projector/progress/progress.ts',
  find: '      if (leaderEpoch >= 0) applied.leaderEpoch = leaderEpoch;\n',
  replace: '',
};

const older = 'the group has no committed offset, or an older one; continuing from the recorded position';
const ahead =
  'the committed offset is ahead of the recorded position: another client commits in this group, or MongoDB was ' +
  'restored; continuing from the position';

describe('three brokers', () => {
  const { cluster, environment, topic, start, publish, under, applied, ...rest } = useBrokerFaults();
  const { expectConverged, send, find, cli } = rest;
  const consumerGroups = (...options: string[]) =>
    kafkaTool(
      cluster,
      'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand',
      ...['--group', environment.config.CONSUMER_GROUP, ...options],
    );

  const faults: Record<string, (node: ClusterNode) => Promise<unknown>> = {
    killed: async (node) => {
      await node.kill();
      await untilOut(cluster, node.id);
      await node.restart();
    },
    stopped: async (node) => {
      await node.stop();
      await untilOut(cluster, node.id);
      await node.restart();
    },
    'paused for 10 s': async (node) => {
      node.pause();
      await delay(10_000);
      node.resume();
    },
    'without its partitions': async (node) => {
      const others = cluster.nodes.map(({ id }) => id).filter((id) => id !== node.id);
      const turned = (partition: number) => (partition % 2 === 0 ? others : others.toReversed());
      await reassign(cluster, ({ partition }) => turned(partition));
      await reassign(cluster, ({ partition }) => [node.id, ...turned(partition)]);
      // Each partition has moved back to this node, which leads it from here on.
      await electPreferredLeaders(cluster);
    },
  };

  test('take new topics, although one broker knows a topic before another does', async () => {
    for (let round = 0; round < 5; round += 1) {
      const prefix = `${environment.config.TOPIC_PREFIX}${round}.`;
      const admin = environment.kafka.admin();
      await admin.connect();
      const outcomes = await createTopics(admin, prefix, { partitions: 1 });
      expect(outcomes).toEqual(topicsOf(prefix).map((topic) => `${topic}: created, 1 partition`));
      await admin.deleteTopics({ topics: topicsOf(prefix) });
      await admin.disconnect();
    }
  });

  test('are killed, stopped, paused and moved in turn: every document equals the fold of the log', async () => {
    const history = randomHistory(seed, 8_000);
    await publish(history.splice(0, 100));
    start();
    start();
    await applied();
    for (const [name, fault] of Object.entries(faults))
      for (const node of cluster.nodes) await under(`node ${node.id} ${name}`, history, () => fault(node));
    await expectConverged();
  });

  test.each([
    ['expire', ['--delete-offsets'], older],
    ['are deleted with the group', ['--delete'], older],
    ['are reset to the beginning of the logs', ['--reset-offsets', '--execute', '--to-earliest'], older],
    ['are reset to the ends of the logs', ['--reset-offsets', '--execute', '--to-latest'], ahead],
  ])(
    'every document equals the fold of the log although the offsets of the stopped projectors %s',
    async (_, command, finding) => {
      const history = randomHistory(seed, 200);
      await publish(history.slice(0, 100));
      const first = start();
      await applied();
      expect(await first.stop()).toBe(0);
      // given later records that the projector has not read
      await publish(history.slice(100));
      const ofTopics = command.includes('--delete')
        ? []
        : environment.topics.flatMap((name) => ['--topic', name]);
      await consumerGroups(...command, ...ofTopics);
      // then the projector logs its finding, and goes on from its recorded positions
      const second = start();
      await second.logged(finding);
      await expectConverged();
    },
  );

  test('a log that diverged in an unclean election ends the projectors for good, even if it is longer again', async () => {
    const publishOne = (id: string) => send('tag', { ...encode(created('tag', id), 'binary'), partition: 0 });
    await publishOne('tag_1');
    const first = start();
    await applied();
    const diverged = await uncleanElection(cluster, {
      topic: topic('tag'),
      partition: 0,
      publish: async () => {
        await publishOne('tag_2');
        await publishOne('tag_3');
        await applied();
      },
    });
    expect(diverged).toMatchObject({ endBefore: 3, divergedAt: 1 });
    expect(diverged.epochAfter).toBeGreaterThan(diverged.epochBefore);
    // given later records at the offsets of the lost ones, and after them
    for (const id of ['tag_4', 'tag_5', 'tag_6']) await publishOne(id);
    // then the projector ends, and no projector starts, even once the former leader is back
    expect(await first.exited).toBe(1);
    const lost = { topic: topic('tag'), partition: 0, kind: 'diverged', from: 1, to: 2 };
    expect(await readLogGaps(environment.control, 1)).toMatchObject([lost]);
    await diverged.former.restart();
    await untilInSync(cluster);
    expect(await start().exited).toBe(1);
    expect(await find('tag', 'tag_6')).toBeNull();
    // until an operator accepts the loss
    const longAgo = { updatedAt: new Date(Date.now() - 60_000) };
    await progressOf(environment.control).updateMany({}, { $set: longAgo });
    expect(await cli('accept', 'gap', '1', '--why', 'they were tests')).toMatchObject({ code: 0 });
    start();
    await reached(environment.control, await logEnds(environment.admin, environment.topics), () => []);
    expect(await find('tag', 'tag_4')).not.toBeNull();
    expect(await find('tag', 'tag_6')).not.toBeNull();
  });

  test('change a leader between two builds, of which one knows no leader epochs: neither finds a gap', async () => {
    const publishTags = (...ids: string[]) =>
      send('tag', ...ids.map((id) => ({ ...encode(created('tag', id), 'binary'), partition: 0 })));
    const saved = async () =>
      (await progressOf(environment.control).findOne({ topic: topic('tag'), partition: 0 }))?.applied;
    // given records of the first leader that this build has applied
    await publishTags('tag_1', 'tag_2');
    const first = start();
    await applied();
    expect(await first.stop()).toBe(0);
    const known = await saved();
    expect(known).toMatchObject({ position: 2, leaderEpoch: expect.any(Number) as number });
    // and records of another leader that the other build has applied
    const ofTag = (await placements(cluster, [topic('tag')])).find(({ partition }) => partition === 0);
    const leader = cluster.node(ofTag?.leader ?? 0);
    await leader.kill();
    await untilOut(cluster, leader.id);
    await publishTags('tag_3', 'tag_4', 'tag_5');
    await leader.restart();
    await untilInSync(cluster);
    const other = await nextRelease([withoutEpochs]);
    const environmentOf = { ...environment.environment, ...shortSession, LOG_LEVEL: 'info' };
    const second = startScript(join(other.folder, 'services/projector/main.ts'), environmentOf);
    await applied();
    expect(await second.stop()).toBe(0);
    await other.close();
    expect(await saved()).toEqual({ position: 5, topicId: known?.topicId });
    // then this build goes on
    await publishTags('tag_6');
    start();
    await applied();
    expect(await readLogGaps(environment.control, 1)).toEqual([]);
    expect((await saved())?.leaderEpoch).toBeGreaterThan(known?.leaderEpoch ?? 0);
  });
});
