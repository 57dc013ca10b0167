import { eventually, notYet } from '../support/eventually.ts';
import type { Values } from './chart.ts';
import { describeCluster } from './cluster.ts';
import { required } from './example-values.ts';

type Labels = Record<string, string>;
type Pods = { items: { spec: { nodeName?: string } }[] };

const rolloutCount = 6;
const zone = 'topology.kubernetes.io/zone';

/** The labels of six nodes, two in each of three zones. */
const zoneLabels: Record<string, Labels> = {
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
    const nodesAfterEachStep = [];
    for (const [component, deployment] of Object.entries(deployments)) {
      nodesAfterEachStep.push(await nodesOf(namespace, component));
      for (let count = 0; count < rolloutCount; count++) {
        await restartAndWait(namespace, deployment);
        nodesAfterEachStep.push(await nodesOf(namespace, component));
      }
    }
    return nodesAfterEachStep;
  };

  const restartAndWait = async (namespace: string, deployment: string) => {
    const place = [`deployment/${deployment}`, '--namespace', namespace];
    await cluster.kubectl('rollout', 'restart', ...place);
    await cluster.kubectl('rollout', 'status', ...place);
  };

  const nodesOf = async (namespace: string, component: string) => {
    const selector = `app.kubernetes.io/component=${component}`;
    let nodes: string[] = [];
    await eventually(async () => {
      const { items } = await cluster.get<Pods>('pods', '--namespace', namespace, '--selector', selector);
      nodes = items.map(({ spec }) => spec.nodeName ?? '');
      const areScheduled = nodes.length === 2 && nodes.every((node) => node !== '');
      return areScheduled || notYet(nodes);
    });
    return nodes.sort();
  };

  test.each<{ name: string; node1: Labels; node2: Labels }>([
    { name: 'without labels of zones', node1: {}, node2: {} },
    { name: 'in two zones', node1: { [zone]: 'a' }, node2: { [zone]: 'b' } },
    { name: 'with a zone label on only one node', node1: { [zone]: 'a' }, node2: {} },
  ])('run on both of two nodes $name', async ({ name, node1, node2 }) => {
    await cluster.createNodes({ 'node-1': node1, 'node-2': node2 });
    const namespace = `spread-${name.replaceAll(/\W/g, '-')}`;
    const nodesAfterEachStep = await placePods(namespace, required);
    expect(nodesAfterEachStep).toEqual(nodesAfterEachStep.map(() => ['node-1', 'node-2']));
  });

  test('run in two zones if the operator asks for zones', async () => {
    await cluster.createNodes(zoneLabels);
    const values = { ...required, spreadOverZones: true };
    const nodesAfterEachStep = await placePods('spread-zones', values);
    const zoneCounts = nodesAfterEachStep.map((nodes) => {
      const zones = new Set(nodes.map((node) => zoneLabels[node]?.[zone]));
      return zones.size;
    });
    expect(zoneCounts).toEqual(nodesAfterEachStep.map(() => 2));
  });
});
