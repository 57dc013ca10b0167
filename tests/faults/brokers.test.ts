import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
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

/** The change that makes a build of the projector save positions without leader epochs. */
const withoutEpochs = {
  file: 'services/projector/progress/progress.ts',
  find: '      if (leaderEpoch !== unknownEpoch) applied.leaderEpoch = leaderEpoch;\n',
  replace: '',
};

const committedOffsetOlder =
  'the group has no committed offset, or an older one; continuing from the recorded position';
const committedOffsetAhead =
  'the committed offset is ahead of the recorded position: another client commits in this group, or MongoDB was ' +
  'restored; continuing from the position';

describe('three brokers', () => {
  const { cluster, environment, topic, start, publish, publishUnder, applied, ...tools } = useBrokerFaults();
  const { expectConverged, send, find, cli } = tools;
  const runConsumerGroupCommand = (...options: string[]) =>
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
      await sleep(10_000);
      node.resume();
    },
    'without its partitions': async (node) => {
      const otherIds = cluster.nodes.map(({ id }) => id).filter((id) => id !== node.id);
      const otherReplicas = (partition: number) => (partition % 2 === 0 ? otherIds : otherIds.toReversed());
      // The coordinators stay: if they moved, the projectors would join again, and read the new leaders with that.
      const { topics } = environment;
      await reassign(cluster, ({ partition }) => otherReplicas(partition), topics);
      await reassign(cluster, ({ partition }) => [node.id, ...otherReplicas(partition)], topics);
      // Each partition has moved back to this node, which now becomes its leader.
      await electPreferredLeaders(cluster);
    },
  };

  test('create new topics although one broker learns of a topic before another', async () => {
    for (let round = 0; round < 5; round += 1) {
      const prefix = `${environment.config.TOPIC_PREFIX}${round}.`;
      const admin = environment.kafka.admin();
      await admin.connect();
      const outcomes = await createTopics(admin, prefix, { partitions: 1 });
      expect(outcomes).toEqual(topicsOf(prefix).map((name) => `${name}: created, 1 partition`));
      await admin.deleteTopics({ topics: topicsOf(prefix) });
      await admin.disconnect();
    }
  });

  test('serve projectors whose documents equal the fold of the log after every fault of a broker', async () => {
    const history = randomHistory(seed, 8_000);
    await publish(history.splice(0, 100));
    start();
    start();
    await applied();
    for (const [name, fault] of Object.entries(faults)) {
      for (const node of cluster.nodes)
        await publishUnder(`node ${node.id} ${name}`, history, () => fault(node));
    }
    await expectConverged();
  });

  test.each([
    { how: 'expire', command: ['--delete-offsets'], message: committedOffsetOlder },
    { how: 'are deleted with the group', command: ['--delete'], message: committedOffsetOlder },
    {
      how: 'are reset to the beginning of the logs',
      command: ['--reset-offsets', '--execute', '--to-earliest'],
      message: committedOffsetOlder,
    },
    {
      how: 'are reset to the ends of the logs',
      command: ['--reset-offsets', '--execute', '--to-latest'],
      message: committedOffsetAhead,
    },
  ])(
    'serve a projector that continues from its recorded positions although its committed offsets $how',
    async ({ command, message }) => {
      const history = randomHistory(seed, 200);
      await publish(history.slice(0, 100));
      const projector = start();
      await applied();
      expect(await projector.stop()).toBe(0);
      // given later records that the projector has not read
      await publish(history.slice(100));
      const topicOptions = command.includes('--delete')
        ? []
        : environment.topics.flatMap((name) => ['--topic', name]);
      await runConsumerGroupCommand(...command, ...topicOptions);
      // when the projector starts again
      const restarted = start();
      await restarted.logged(message);
      // then every document equals the fold of the log
      await expectConverged();
    },
  );

  test('serve no projector after a log has diverged until an operator accepts the gap', async () => {
    const publishTag = (id: string) => send('tag', { ...encode(created('tag', id), 'binary'), partition: 0 });
    await publishTag('tag_1');
    const projector = start();
    await applied();
    const diverged = await uncleanElection(cluster, {
      topic: topic('tag'),
      partition: 0,
      publish: async () => {
        await publishTag('tag_2');
        await publishTag('tag_3');
        await applied();
      },
    });
    expect(diverged).toMatchObject({ endBefore: 3, divergedAt: 1 });
    expect(diverged.epochAfter).toBeGreaterThan(diverged.epochBefore);
    // given later records at the offsets of the lost ones, and after them
    for (const id of ['tag_4', 'tag_5', 'tag_6']) await publishTag(id);
    // then the projector ends
    expect(await projector.exited).toBe(1);
    const gap = { topic: topic('tag'), partition: 0, kind: 'diverged', from: 1, to: 2 };
    expect(await readLogGaps(environment.control, 1)).toMatchObject([gap]);
    // then no projector starts, although the former leader is back
    await diverged.former.restart();
    await untilInSync(cluster);
    expect(await start().exited).toBe(1);
    expect(await find('tag', 'tag_6')).toBeNull();
    // when an operator accepts the gap
    // then a projector applies the later records
    const longAgo = { updatedAt: new Date(Date.now() - 60_000) };
    const { control, admin, topics } = environment;
    await progressOf(control).updateMany({}, { $set: longAgo });
    expect(await cli('accept', 'gap', '1', '--why', 'they were tests')).toMatchObject({ code: 0 });
    start();
    // The projectors that ended above must not reject the wait.
    const noFatalError = () => [];
    await reached(control, await logEnds(admin, topics), noFatalError);
    expect(await find('tag', 'tag_4')).not.toBeNull();
    expect(await find('tag', 'tag_6')).not.toBeNull();
  });

  test('cause no gap by an election beside a projector that saves no leader epochs', async () => {
    const publishTags = (...ids: string[]) => {
      const messages = ids.map((id) => ({ ...encode(created('tag', id), 'binary'), partition: 0 }));
      return send('tag', ...messages);
    };
    const tags0 = { topic: topic('tag'), partition: 0 };
    const savedPosition = async () => {
      const progress = await progressOf(environment.control).findOne(tags0);
      return progress?.applied;
    };
    // given records of the first leader that this build has applied
    await publishTags('tag_1', 'tag_2');
    const projector = start();
    await applied();
    expect(await projector.stop()).toBe(0);
    const withEpoch = await savedPosition();
    expect(withEpoch).toMatchObject({ position: 2, leaderEpoch: expect.any(Number) as number });
    // given records of a second leader that the other build has applied
    const ofTags = await placements(cluster, [topic('tag')]);
    const placement = ofTags.find(({ partition }) => partition === 0);
    const leader = cluster.node(Number(placement?.leader));
    await leader.kill();
    await untilOut(cluster, leader.id);
    await publishTags('tag_3', 'tag_4', 'tag_5');
    await leader.restart();
    await untilInSync(cluster);
    const otherBuild = await nextRelease([withoutEpochs]);
    const settings = { ...environment.variables, ...shortSession, LOG_LEVEL: 'info' };
    const otherProjector = startScript(join(otherBuild.folder, 'services/projector/main.ts'), settings);
    await applied();
    expect(await otherProjector.stop()).toBe(0);
    await otherBuild.close();
    expect(await savedPosition()).toEqual({ position: 5, topicId: withEpoch?.topicId });
    // when this build applies the next record
    await publishTags('tag_6');
    start();
    await applied();
    // then the projector has found no gap and saves the epoch of the second leader
    expect(await readLogGaps(environment.control, 1)).toEqual([]);
    const next = await savedPosition();
    expect(next?.leaderEpoch).toBeGreaterThan(Number(withEpoch?.leaderEpoch));
  });
});
