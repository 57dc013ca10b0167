import { eventually, notYet } from '../support/eventually.ts';
import type { Values } from './chart.ts';
import { describeCluster } from './cluster.ts';
import { required } from './example-values.ts';

type Pods = { items: { metadata: { deletionTimestamp?: string }; spec: { nodeName?: string } }[] };

const rollouts = 6;
const zone = 'topology.kubernetes.io/zone';

/** The labels of six nodes, two in each of three zones. */
const zoneLabels: Record<string, Record<string, string>> = {
  'node-1': { [zone]: 'a' },
  'node-2': { [zone]: 'a' },
  'node-3': { [zone]: 'b' },
  'node-4': { [zone]: 'b' },
  'node-5': { [zone]: 'c' },
  'node-6': { [zone]: 'c' },
};

const deployments = { api: 'support-api', projector: 'support-projector-g1' };

describeCluster('two replicas of the API and two projectors, placed by the scheduler', (cluster) => {
  /** Installs the chart and repeats rollouts. Returns the nodes of each pair of pods after each of these steps. */
  const placePods = async (namespace: string, values: Values) => {
    await cluster.createNamespace(namespace);
    await cluster.helmIn(namespace, 3).install(values, '--wait');
    const pairs = [];
    for (const [component, name] of Object.entries(deployments)) {
      const rollout = (verb: string) =>
        cluster.kubectl('rollout', verb, `deployment/${name}`, '--namespace', namespace);
      pairs.push(await nodesOf(namespace, component));
      for (let count = 0; count < rollouts; count++) {
        await rollout('restart');
        await rollout('status');
        pairs.push(await nodesOf(namespace, component));
      }
    }
    return pairs;
  };

  const nodesOf = async (namespace: string, component: string) => {
    const selector = `app.kubernetes.io/component=${component}`;
    let nodes: string[] = [];
    await eventually(async () => {
      const { items } = await cluster.get<Pods>('pods', '--namespace', namespace, '--selector', selector);
      nodes = items.map(({ spec }) => spec.nodeName ?? '');
      return (nodes.length === 2 && nodes.every(Boolean)) || notYet(nodes);
    });
    return nodes.sort();
  };

  test.each<[string, Record<string, string>[], Values]>([
    ['without labels of zones', [{}, {}], required],
    ['in two zones', [{ [zone]: 'a' }, { [zone]: 'b' }], required],
    ['with a zone label on only one node', [{ [zone]: 'a' }, {}], required],
  ])('run on both of two nodes %s', async (name, [first = {}, second = {}], values) => {
    await cluster.createNodes({ 'node-1': first, 'node-2': second });
    const pairs = await placePods(`spread-${name.replaceAll(/\W/g, '-')}`, values);
    expect(pairs).toEqual(pairs.map(() => ['node-1', 'node-2']));
  });

  test('run in two zones if the operator asks for zones', async () => {
    await cluster.createNodes(zoneLabels);
    const values = { ...required, spreadOverZones: true };
    const pairs = await placePods('spread-zones', values);
    const zoneCounts = pairs.map((nodes) => {
      const zones = new Set(nodes.map((node) => zoneLabels[node]?.[zone]));
      return zones.size;
    });
    expect(zoneCounts).toEqual(pairs.map(() => 2));
  });
});
