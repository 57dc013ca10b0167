import { eventually } from '../support/eventually.ts';
import { type Manifest, parseManifests, useChart, type Values } from './chart.ts';
import { describeCluster } from './cluster.ts';
import { required } from './example-values.ts';

/** The annotation of a hook that Helm reads. The field is empty, `-weight` or `-delete-policy`. */
const hookAnnotation = (manifest: Manifest, field = '') =>
  manifest.metadata.annotations?.[`helm.sh/hook${field}`];

/**
 * Applies the chart as Argo CD does: it renders without the cluster, runs the hooks before an installation and an
 * upgrade in the order of their weights, then applies the objects.
 */
describeCluster('a sync without Helm', (cluster) => {
  const chart = useChart();

  type Conditions = { status: { conditions?: { type: string; status: string }[] } };

  const run = async (namespace: string, manifest: Manifest) => {
    const { kind, metadata } = manifest;
    const inNamespace = ['--namespace', namespace];
    await cluster.kubectl('delete', kind, metadata.name, '--ignore-not-found', '--wait', ...inNamespace);
    await cluster.kubectl('create', ...inNamespace, '--filename', fileOf(manifest));
    if (kind !== 'Job') return;
    let ended: string | undefined;
    await eventually(async () => {
      const { status } = await cluster.get<Conditions>('job', metadata.name, ...inNamespace);
      const isEnd = ({ type, status: value }: { type: string; status: string }) =>
        value === 'True' && (type === 'Complete' || type === 'Failed');
      ended = status.conditions?.find(isEnd)?.type;
      return ended !== undefined;
    });
    if (ended === 'Failed') throw new Error(`${metadata.name} failed`);
    await cluster.kubectl('delete', kind, metadata.name, ...inNamespace);
  };

  const fileOf = (...manifests: Manifest[]) =>
    cluster.manifestsFile(manifests.map((manifest) => JSON.stringify(manifest)).join('\n---\n'));

  const sync = async (namespace: string, values: Values) => {
    const manifests = parseManifests(await chart.template(values, { namespace }));
    const hooks = manifests.filter((manifest) =>
      /pre-(install|upgrade)/.test(hookAnnotation(manifest) ?? ''),
    );
    const weight = (manifest: Manifest) => Number(hookAnnotation(manifest, '-weight') ?? 0);
    const ordered = hooks.toSorted((a, b) => weight(a) - weight(b));
    for (const manifest of ordered) await run(namespace, manifest);
    const objects = manifests.filter((manifest) => !hookAnnotation(manifest));
    const options = ['--server-side', '--namespace', namespace, '--filename', fileOf(...objects)];
    await cluster.kubectl('apply', ...options);
    return ordered.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
  };

  const generations = async (namespace: string) => {
    type Items = { items: { metadata: { name: string; generation: number } }[] };
    const { items } = await cluster.get<Items>('deployments,cronjobs', '--namespace', namespace);
    return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.generation]));
  };

  const values: Values = {
    ...required,
    topics: { create: true },
    cli: { secrets: { MONGODB_URL: 'mongodb://cli@mongo/' } },
  };

  test('changes no object that an earlier sync has created', async () => {
    const namespace = 'sync-twice';
    await cluster.createNamespace(namespace);
    const hooks = ['Job/support-upgrade-check', 'Secret/support-topics', 'Job/support-topics'];
    expect(await sync(namespace, values)).toEqual(hooks);
    const generationsBefore = await generations(namespace);
    expect(await sync(namespace, values)).toEqual(hooks);
    expect(await generations(namespace)).toEqual(generationsBefore);
  });

  test('changes no object if the check refuses the upgrade', async () => {
    const namespace = 'sync-refused';
    await cluster.createNamespace(namespace);
    await sync(namespace, values);
    const generationsBefore = await generations(namespace);
    const changed = { ...values, image: { tag: '9.9.9' } };
    cluster.kubelet.fails = (pod) => pod.startsWith('support-upgrade-check');
    try {
      await expect(sync(namespace, changed)).rejects.toThrow('support-upgrade-check failed');
    } finally {
      cluster.kubelet.fails = () => false;
    }
    expect(await generations(namespace)).toEqual(generationsBefore);
    // then the next sync works
    await sync(namespace, changed);
    expect(Object.keys(await generations(namespace))).toEqual(Object.keys(generationsBefore));
  });
});
