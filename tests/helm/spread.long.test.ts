import { eventually } from '../support/eventually.ts';
import type { Values } from './chart.ts';
import { describeCluster } from './cluster.ts';
import { required } from './example-values.ts';

type Pods = { items: { metadata: { deletionTimestamp?: string }; spec: { nodeName?: string } }[] };

const rollouts = 6;
const zone = 'topology.kubernetes.io/zone';

/** Six nodes, two in each of three zones. */
const zoned = Object.fromEntries(
  ['a', 'b', 'c'].flatMap((name, index) => [
    [`node-${2 * index + 1}`, { [zone]: name }],
    [`node-${2 * index + 2}`, { [zone]: name }],
  ]),
);

const deployments = { api: 'support-api', projector: 'support-projector-g1' };

describeCluster('two replicas of the API and two projectors, placed by the scheduler', (cluster) => {
  /** The nodes of each pair after the installation and after each rollout. */
  const placements = async (namespace: string, values: Values) => {
    await cluster.createNamespace(namespace);
    await cluster.helmIn(namespace, 3).install(values, '--wait');
    const found = [];
    for (const [component, name] of Object.entries(deployments)) {
      const rollout = (verb: string) =>
        cluster.kubectl('rollout', verb, `deployment/${name}`, '--namespace', namespace);
      found.push(await nodesOf(namespace, component));
      for (let count = 0; count < rollouts; count++) {
        await rollout('restart');
        await rollout('status');
        found.push(await nodesOf(namespace, component));
      }
    }
    return found;
  };

  const nodesOf = async (namespace: string, component: string) => {
    const selector = `app.kubernetes.io/component=${component}`;
    let nodes: string[] = [];
    await eventually(async () => {
      const { items } = await cluster.get<Pods>('pods', '--namespace', namespace, '--selector', selector);
      nodes = items.map(({ spec }) => spec.nodeName ?? '');
      return (nodes.length === 2 && nodes.every(Boolean)) || nodes;
    });
    return nodes.sort();
  };

  test.each<[string, Record<string, string>[], Values]>([
    ['without labels of zones', [{}, {}], required],
    ['in two zones', [{ [zone]: 'a' }, { [zone]: 'b' }], required],
    ['of which one has a label of a zone', [{ [zone]: 'a' }, {}], required],
  ])('are on both of two nodes %s', async (name, [first = {}, second = {}], values) => {
    await cluster.createNodes({ 'node-1': first, 'node-2': second });
    const found = await placements(`spread-${name.replaceAll(/\W/g, '-')}`, values);
    expect(found).toEqual(found.map(() => ['node-1', 'node-2']));
  });

  test('are in two of three zones with two nodes each, if the operator asks for zones', async () => {
    await cluster.createNodes(zoned);
    const values = { ...required, spreadOverZones: true };
    const found = await placements('spread-zones', values);
    const zones = found.map((nodes) => new Set(nodes.map((node) => zoned[node]?.[zone])).size);
    expect(zones).toEqual(found.map(() => 2));
  });
});
