import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { eventually } from '../support/eventually.ts';
import { useChart, type Values } from './chart.ts';
import { describeCluster } from './cluster.ts';
import { deployments, required } from './example-values.ts';

type Env = { env?: { name: string; value?: string }[] };
type Pods = { items: { metadata: { name: string }; spec: { containers: Env[] } }[] };

describeCluster('objects on a real API server', (cluster) => {
  const chart = useChart();
  const podsOf = (namespace: string, component: string) =>
    cluster.get<Pods>('pods', '--namespace', namespace, '-l', `app.kubernetes.io/component=${component}`);

  const documentedValues: [string, Values] = [
    'the documented values',
    parse(/```yaml\n(image:[^]*?)```/.exec(readFileSync('docs/kubernetes.md', 'utf8'))?.[1] ?? '') as Values,
  ];

  test.each([documentedValues, ...deployments])(
    'it accepts %s strictly, without a warning and without a deprecated API',
    async (name, values) => {
      const namespace = `dry-${[documentedValues, ...deployments].findIndex(([one]) => one === name)}`;
      await cluster.createNamespace(namespace);
      await cluster.kubectl('create', 'serviceaccount', 'support', '--namespace', namespace);
      const manifests = await chart.template(values, { namespace });
      const file = cluster.manifestsFile(manifests);
      const options = ['--server-side', '--dry-run=server', '--validate=strict', '--force-conflicts'];
      const output = await cluster.kubectl('apply', ...options, '--namespace', namespace, '-f', file);
      expect(output).not.toMatch(/warning/i);
      const metrics = await cluster.kubectl('get', '--raw', '/metrics');
      // The API server and its controllers use further groups themselves, some of them deprecated.
      const groups = new Set([...manifests.matchAll(/^apiVersion: (\S+)\//gm)].map(([, group]) => group));
      const deprecated = [
        ...metrics.matchAll(/^apiserver_requested_deprecated_apis\{group="([^"]+)".*\} 1$/gm),
      ];
      expect(deprecated.filter(([, group]) => groups.has(group)).map(([line]) => line)).toEqual([]);
    },
  );

  test('a wrong setting breaks the new pods alone: a replacement of an old one has the old settings', async () => {
    const namespace = 'wrong-setting';
    const { install, upgrade } = cluster.helmIn(namespace, 3);
    await cluster.createNamespace(namespace);
    await install(required);
    await eventually(async () => (await podsOf(namespace, 'api')).items.length === 2);
    const old = new Set((await podsOf(namespace, 'api')).items.map(({ metadata }) => metadata.name));
    cluster.kubelet.readies = false;
    try {
      await upgrade({ ...required, settings: { ...required.settings, LOG_LEVEL: 'wrong' } });
      const [first = ''] = old;
      await cluster.kubectl('delete', 'pod', first, '--namespace', namespace);
      const isWrong = ({ spec }: Pods['items'][number]) =>
        spec.containers[0]?.env?.some(({ value }) => value === 'wrong');
      await eventually(async () => {
        const { items } = await podsOf(namespace, 'api');
        const replacements = items.filter(({ metadata }) => !old.has(metadata.name));
        const wrong = replacements.filter(isWrong).length;
        // One pod is the rollout's surge, the other replaces the deleted one.
        return (
          (wrong === 1 && replacements.length === 2) || replacements.map(({ metadata }) => metadata.name)
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
      // The budget is known once the controller has counted the pods.
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
