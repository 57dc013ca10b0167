import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { eventually, notYet } from '../support/eventually.ts';
import { useChart, type Values } from './chart.ts';
import { describeCluster } from './cluster.ts';
import { deployments, required } from './example-values.ts';

type Env = { env?: { name: string; value?: string }[] };
type Pods = { items: { metadata: { name: string }; spec: { containers: Env[] } }[] };

describeCluster('objects on a real API server', (cluster) => {
  const chart = useChart();
  const podsOf = (namespace: string, component: string) =>
    cluster.get<Pods>('pods', '--namespace', namespace, '-l', `app.kubernetes.io/component=${component}`);

  const documented: [string, Values] = [
    'the documented values',
    parse(/```yaml\n(image:[^]*?)```/.exec(readFileSync('docs/kubernetes.md', 'utf8'))?.[1] ?? '') as Values,
  ];

  test.each([documented, ...deployments])(
    'the API server accepts %s without a warning or a deprecated API',
    async (name, values) => {
      const index = [documented, ...deployments].findIndex(([deployment]) => deployment === name);
      const namespace = `dry-${index}`;
      await cluster.createNamespace(namespace);
      await cluster.kubectl('create', 'serviceaccount', 'support', '--namespace', namespace);
      const manifests = await chart.template(values, { namespace });
      const file = cluster.manifestsFile(manifests);
      const options = ['--server-side', '--dry-run=server', '--validate=strict', '--force-conflicts'];
      const output = await cluster.kubectl('apply', ...options, '--namespace', namespace, '-f', file);
      expect(output).not.toMatch(/warning/i);
      const metrics = await cluster.kubectl('get', '--raw', '/metrics');
      // The API server and its controllers use additional groups, and some of these are deprecated.
      const groups = new Set([...manifests.matchAll(/^apiVersion: (\S+)\//gm)].map(([, group]) => group));
      const deprecated = [
        ...metrics.matchAll(/^apiserver_requested_deprecated_apis\{group="([^"]+)".*\} 1$/gm),
      ];
      expect(deprecated.filter(([, group]) => groups.has(group)).map(([line]) => line)).toEqual([]);
    },
  );

  test('the replacement of an old pod has the old settings during the rollout of a wrong setting', async () => {
    const namespace = 'wrong-setting';
    const { install, upgrade } = cluster.helmIn(namespace, 3);
    await cluster.createNamespace(namespace);
    await install(required);
    await eventually(async () => (await podsOf(namespace, 'api')).items.length === 2);
    const oldNames = new Set((await podsOf(namespace, 'api')).items.map(({ metadata }) => metadata.name));
    cluster.kubelet.readies = false;
    try {
      await upgrade({ ...required, settings: { ...required.settings, LOG_LEVEL: 'wrong' } });
      const [oldPod = ''] = oldNames;
      await cluster.kubectl('delete', 'pod', oldPod, '--namespace', namespace);
      const isWrong = ({ spec }: Pods['items'][number]) =>
        spec.containers[0]?.env?.some(({ value }) => value === 'wrong');
      await eventually(async () => {
        const { items } = await podsOf(namespace, 'api');
        const newPods = items.filter(({ metadata }) => !oldNames.has(metadata.name));
        const wrongCount = newPods.filter(isWrong).length;
        // One new pod is the rollout's surge, and the other replaces the deleted pod.
        return (
          (wrongCount === 1 && newPods.length === 2) || notYet(newPods.map(({ metadata }) => metadata.name))
        );
      });
    } finally {
      cluster.kubelet.readies = true;
    }
  });

  test('a drain may evict the replicas while none of them is ready', async () => {
    const namespace = 'eviction';
    cluster.kubelet.readies = false;
    try {
      await cluster.createNamespace(namespace);
      await cluster.helmIn(namespace, 3).install(required);
      await eventually(async () => (await podsOf(namespace, 'api')).items.length === 2);
      const { items } = await podsOf(namespace, 'api');
      // The API server refuses evictions until the controller has counted the pods of the budget.
      await eventually(
        async () =>
          (await cluster.kubectl(
            'get',
            'pdb',
            'support-api',
            '--namespace',
            namespace,
            '--output',
            'jsonpath={.status.expectedPods}',
          )) === '2',
      );
      for (const { metadata } of items) {
        const eviction = {
          apiVersion: 'policy/v1',
          kind: 'Eviction',
          metadata: { name: metadata.name, namespace },
        };
        const file = cluster.manifestsFile(JSON.stringify(eviction));
        await cluster.kubectl(
          'create',
          '--raw',
          `/api/v1/namespaces/${namespace}/pods/${metadata.name}/eviction`,
          '-f',
          file,
        );
      }
    } finally {
      cluster.kubelet.readies = true;
    }
  });
});
