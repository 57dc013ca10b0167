import { eventually } from '../support/eventually.ts';
import type { Values } from './chart.ts';
import { describeCluster, type HelmVersion } from './cluster.ts';
import { everything, required } from './example-values.ts';

type Kubelet = { fails: (pod: string) => boolean; starts: (pod: string) => boolean };

/** An upgrade from `from` to `to` that the chart refuses, and the behaviour of the kubelet meanwhile. */
type Refusal = {
  name: string;
  from?: Values;
  to: Values;
  kubelet?: Partial<Kubelet>;
  error: RegExp;
  /** Whether Helm records a revision, because it could render all of the values. */
  isRecorded: boolean;
};

const isCheck = (pod: string) => pod.startsWith('support-upgrade-check');
const isTopics = (pod: string) => pod.startsWith('support-topics');

const generations = (...counts: number[]) =>
  counts.map((replicas, index) => ({ number: index + 1, replicas }));
const withTopics = { ...required, topics: { create: true } };
const tag = { image: { tag: '9.9.9' } };

const refusals: Refusal[] = [
  {
    name: 'a removed generation whose projectors are ready',
    from: { ...withTopics, generations: generations(1, 1) },
    to: { ...withTopics, ...tag, generations: generations(1) },
    error: /generations lacks 2, whose projectors are ready/,
    isRecorded: false,
  },
  {
    name: 'an active generation with 0 replicas',
    to: { ...withTopics, ...tag, generations: generations(0) },
    kubelet: { fails: isCheck },
    error: /pre-upgrade/,
    isRecorded: true,
  },
  {
    name: 'a check whose image cannot be pulled',
    to: { ...withTopics, ...tag },
    kubelet: { starts: (pod) => !isCheck(pod) },
    error: /pre-upgrade/,
    isRecorded: true,
  },
  {
    name: 'topics that the brokers refuse',
    to: { ...withTopics, ...tag },
    kubelet: { fails: isTopics },
    error: /pre-upgrade/,
    isRecorded: true,
  },
];

type Item = { kind: string; metadata: { name: string }; spec?: object; data?: object };

describeCluster('upgrades that the chart refuses', (cluster) => {
  const kinds =
    'deploy,svc,cm,secret,sa,cronjob,pdb,hpa,ing,netpol,scaledobject,servicemonitor,prometheusrule,httproute';

  /** Reads the objects of the release without its history. A rollback must restore exactly these. */
  const readObjects = async (namespace: string) => {
    const { items } = await cluster.get<{ items: Item[] }>(
      kinds,
      '--namespace',
      namespace,
      '--selector',
      'app.kubernetes.io/instance=support',
    );
    return items.map(({ kind, metadata, spec, data }) => ({ kind, name: metadata.name, spec, data }));
  };

  const untilReady = (namespace: string) =>
    eventually(async () => {
      type Deployments = {
        items: {
          metadata: Item['metadata'];
          spec: { replicas: number };
          status: { readyReplicas?: number };
        }[];
      };
      const { items } = await cluster.get<Deployments>('deployments', '--namespace', namespace);
      return items.every(({ metadata, spec, status }) => {
        // The autoscaler of the API begins with one replica.
        const isScaled = metadata.name !== 'support-api' || spec.replicas > 1;
        return isScaled && (status.readyReplicas ?? 0) === spec.replicas;
      });
    });

  const readPodNames = async (namespace: string) => {
    const selector = 'app.kubernetes.io/component in (api, projector)';
    const { items } = await cluster.get<{ items: Item[] }>(
      ...['pods', '--namespace', namespace, '--selector', selector],
    );
    return items.map(({ metadata }) => metadata.name);
  };

  /** Runs `run` while the kubelet behaves by `controls`. */
  const withKubelet = async (controls: Partial<Kubelet> | undefined, run: () => Promise<unknown>) => {
    const previous = { fails: cluster.kubelet.fails, starts: cluster.kubelet.starts };
    Object.assign(cluster.kubelet, controls);
    try {
      await run();
    } finally {
      Object.assign(cluster.kubelet, previous);
    }
  };

  describe.each<HelmVersion>([3, 4])('Helm %d', (version) => {
    const automaticRollback = version === 3 ? '--atomic' : '--rollback-on-failure';

    const installRelease = async (namespace: string, from: Values) => {
      const release = cluster.helmIn(namespace, version);
      await cluster.createNamespace(namespace);
      await release.install(from);
      await untilReady(namespace);
      return { ...release, before: await readObjects(namespace) };
    };

    describe.each(refusals.map((refusal, index) => ({ ...refusal, prefix: `refused${version}-${index}` })))(
      '$name',
      ({ prefix, from = withTopics, to, kubelet, error, isRecorded }) => {
        test('changes no object and prevents neither a rollback by hand nor the next upgrade', async () => {
          const namespace = `${prefix}-plain`;
          const { before, upgrade, rollback, history } = await installRelease(namespace, from);
          await withKubelet(kubelet, () =>
            expect(upgrade(to, '--wait', '--timeout', '15s')).rejects.toThrow(error),
          );
          expect(await readObjects(namespace)).toEqual(before);
          expect(await history()).toEqual(isRecorded ? ['deployed', 'failed'] : ['deployed']);
          await rollback(1);
          expect(await readObjects(namespace)).toEqual(before);
          expect((await history()).at(-1)).toBe('deployed');
          await upgrade({ ...from, commonLabels: { next: 'upgrade' } });
          expect((await history()).at(-1)).toBe('deployed');
        });

        test('leaves the release unchanged after an automatic rollback', async () => {
          const namespace = `${prefix}-automatic`;
          const { before, upgrade, history } = await installRelease(namespace, from);
          await withKubelet(kubelet, () =>
            expect(upgrade(to, '--wait', '--timeout', '15s', automaticRollback)).rejects.toThrow(
              isRecorded ? /has been rolled back/ : error,
            ),
          );
          expect(await readObjects(namespace)).toEqual(before);
          expect(await history()).toEqual(isRecorded ? ['superseded', 'failed', 'deployed'] : ['deployed']);
          await upgrade({ ...from, commonLabels: { next: 'upgrade' } }, '--wait');
          expect((await history()).at(-1)).toBe('deployed');
        });
      },
    );

    test('an automatic rollback removes new pods that never become ready and keeps the old pods', async () => {
      const namespace = `refused${version}-readiness`;
      const { before, upgrade, history } = await installRelease(namespace, withTopics);
      const oldNames = await readPodNames(namespace);
      cluster.kubelet.readies = false;
      try {
        await expect(
          upgrade({ ...withTopics, ...tag }, '--wait', '--timeout', '15s', automaticRollback),
        ).rejects.toThrow(/has been rolled back/);
      } finally {
        cluster.kubelet.readies = true;
      }
      expect(await readObjects(namespace)).toEqual(before);
      expect(await readPodNames(namespace)).toEqual(expect.arrayContaining(oldNames));
      expect(await history()).toEqual(['superseded', 'failed', 'deployed']);
    });

    test('the next upgrade works after a refused upgrade that turns custom resources off', async () => {
      // Only Helm 4 rolls such an upgrade back automatically.
      const namespace = `refused${version}-off`;
      const { before, upgrade, history } = await installRelease(namespace, everything);
      // The autoscaler stays on. A rollback from a fixed number of replicas would begin with one replica.
      const api = { ...required.api, autoscaling: { enabled: true } };
      const to = { ...required, ...tag, api, generations: generations(2, 1) };
      await withKubelet({ fails: isCheck }, () =>
        expect(upgrade(to, '--wait', automaticRollback)).rejects.toThrow(
          version === 3 ? /cannot patch "support-api" with kind HTTPRoute/ : /has been rolled back/,
        ),
      );
      expect(await readObjects(namespace)).toEqual(before);
      expect((await history()).at(-1)).toBe(version === 3 ? 'failed' : 'deployed');
      await upgrade({ ...everything, commonLabels: { next: 'upgrade' } }, '--wait');
      expect((await history()).at(-1)).toBe('deployed');
    });
  });
});
