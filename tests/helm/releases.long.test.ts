import { eventually, notYet } from '../support/eventually.ts';
import type { Values } from './chart.ts';
import { describeCluster, type HelmVersion } from './cluster.ts';
import { everything, required } from './example-values.ts';

type Deployment = { spec: { replicas: number } };

/** Helm 4 may log that a watch has ended when Helm itself ends the watch, after it has waited. */
const withoutEndedWatches = (printed: string): string =>
  printed.replaceAll(/^\s*I\d{4} .*reflector\.go.*$/gm, '');

describeCluster('releases on a real API server', (cluster) => {
  const replicas = async (namespace: string, name = 'support-api') =>
    (await cluster.get<Deployment>('deployment', name, '--namespace', namespace)).spec.replicas;

  describe.each<HelmVersion>([3, 4])('Helm %d', (version) => {
    test('upgrades and rolls back between the released chart and this chart without a warning', async () => {
      const namespace = `helm${version}-upgrade`;
      const {
        installReleased,
        upgrade,
        rollback,
        uninstall,
        manifest,
        test: check,
      } = cluster.helmIn(namespace, version);
      await cluster.createNamespace(namespace);
      const unchanged = async () => cluster.expectUnchanged(namespace, await manifest());
      const printed = [
        await installReleased(required),
        await upgrade(required, '--wait'),
        await check(),
        await unchanged(),
        await upgrade(everything),
        await unchanged(),
        await rollback(2),
        await upgrade({ ...required, image: { tag: '1.0.1' } }),
        await rollback(1),
        await upgrade(required),
        await unchanged(),
      ];
      expect(withoutEndedWatches(printed.join(''))).not.toMatch(/warn/i);
      // then an uninstallation leaves no object
      await uninstall();
      const kinds =
        'deploy,svc,cm,secret,sa,job,cronjob,pdb,hpa,ing,netpol,scaledobject,servicemonitor,prometheusrule,httproute';
      await eventually(async () => {
        const names = await cluster.kubectl('get', kinds, '--namespace', namespace, '--output', 'name');
        const leftovers = names
          .split('\n')
          .filter((name) => name && !/kube-root-ca|serviceaccount\/default/.test(name));
        return leftovers.length === 0 || notYet(leftovers);
      });
    });

    test('Helm reuses the values of the released chart only together with the new defaults', async () => {
      const namespace = `helm${version}-reused`;
      const { installReleased, upgrade } = cluster.helmIn(namespace, version);
      await cluster.createNamespace(namespace);
      await installReleased(required);
      await expect(upgrade({}, '--reuse-values')).rejects.toThrow(/nil pointer/);
      await upgrade({}, '--reset-then-reuse-values');
    });

    test('a switch of the autoscaler and an upgrade beside it keep the running replicas', async () => {
      const namespace = `helm${version}-scaling`;
      const { install, upgrade, rollback } = cluster.helmIn(namespace, version);
      await cluster.createNamespace(namespace);
      const scaled = (enabled: boolean, count = 3): Values => ({
        ...required,
        api: { ...required.api, replicas: count, autoscaling: { enabled, minReplicas: 2 } },
        generations: [{ number: 1, replicas: 2, ...(enabled ? { maxReplicas: 6 } : {}) }],
        keda: { enabled },
      });
      await install(scaled(false));
      const replicaCounts = [await replicas(namespace)];
      const generation = async () =>
        (
          await cluster.kubectl(
            'get',
            'deployment',
            'support-api',
            '--namespace',
            namespace,
            '--output',
            'jsonpath={.metadata.generation}',
          )
        ).trim();
      const generationBefore = await generation();
      await upgrade(scaled(true));
      replicaCounts.push(await replicas(namespace));
      // The number of replicas has not even changed for a moment.
      expect(await generation()).toBe(generationBefore);
      expect(await replicas(namespace, 'support-projector-g1')).toBe(2);
      await cluster.kubectl('scale', 'deployment', 'support-api', '--replicas=5', '--namespace', namespace);
      await upgrade(scaled(true));
      replicaCounts.push(await replicas(namespace));
      // Helm 4 applies on the server, where the autoscaler owns the number, as `kubectl scale` does here.
      const force = version === 4 ? ['--force-conflicts'] : [];
      if (version === 4) await expect(rollback(2)).rejects.toThrow(/conflict/);
      await rollback(2, ...force);
      replicaCounts.push(await replicas(namespace));
      await upgrade(scaled(false, 4), ...force);
      replicaCounts.push(await replicas(namespace));
      expect(replicaCounts).toEqual([3, 3, 5, 3, 4]);
    });

    test('a refused rollback changes no object and ends with a rollback to the running revision', async () => {
      const namespace = `helm${version}-refused`;
      const { install, upgrade, rollback, history } = cluster.helmIn(namespace, version);
      const withReplicas = (count: number) => ({ ...required, api: { ...required.api, replicas: count } });
      await cluster.createNamespace(namespace);
      await install(required);
      await upgrade(withReplicas(3));
      cluster.kubelet.fails = () => true;
      try {
        await expect(upgrade(withReplicas(4))).rejects.toThrow(/pre-upgrade/);
        await expect(rollback(1)).rejects.toThrow(/support-rollback-check/);
      } finally {
        cluster.kubelet.fails = () => false;
      }
      expect(await replicas(namespace)).toBe(3);
      expect(await history()).toEqual(['superseded', 'deployed', 'failed', 'pending-rollback']);
      // Helm considers the refused rollback in progress, so it accepts only a further rollback.
      await expect(upgrade(withReplicas(4))).rejects.toThrow(/another operation .* is in progress/);
      await rollback(2);
      expect(await replicas(namespace)).toBe(3);
      await upgrade(withReplicas(4));
      expect(await replicas(namespace)).toBe(4);
      // An operator may also repeat a refused rollback once its check passes.
      cluster.kubelet.fails = () => true;
      try {
        await expect(rollback(2)).rejects.toThrow(/support-rollback-check/);
      } finally {
        cluster.kubelet.fails = () => false;
      }
      await rollback(2);
      expect(await replicas(namespace)).toBe(3);
      await upgrade(withReplicas(4));
    });

    test('the automatic rollback of a refused upgrade keeps the pod of the check', async () => {
      const namespace = `helm${version}-automatic`;
      const { install, upgrade } = cluster.helmIn(namespace, version);
      await cluster.createNamespace(namespace);
      await install(required);
      cluster.kubelet.fails = (pod) => pod.startsWith('support-upgrade-check');
      try {
        const automatic = version === 3 ? '--atomic' : '--rollback-on-failure';
        const refused = upgrade({ ...required, api: { ...required.api, replicas: 4 } }, automatic);
        await expect(refused).rejects.toThrow(/has been rolled back/);
      } finally {
        cluster.kubelet.fails = () => false;
      }
      expect(await replicas(namespace)).toBe(2);
      type Checks = { items: { spec: { containers: { command: string[] }[] } }[] };
      const checks = await cluster.get<Checks>(
        ...['pods', '--namespace', namespace, '--selector', 'job-name=support-upgrade-check'],
      );
      const commands = checks.items.map(({ spec }) => spec.containers[0]?.command);
      expect(commands).toEqual([['support-cli', 'rebuild', 'keeps', '1']]);
    });

    test('the Job of the topics runs before all other objects with the secrets of the CLI', async () => {
      const namespace = `helm${version}-topics`;
      const { install, upgrade } = cluster.helmIn(namespace, version);
      await cluster.createNamespace(namespace);
      const withSecrets = (secrets: object): Values => ({
        ...required,
        topics: { create: true },
        cli: { secrets: { MONGODB_URL: 'mongodb://cli@mongo/', ...secrets } },
      });
      const names = async (kinds: string) =>
        (await cluster.kubectl('get', kinds, '--namespace', namespace, '--output', 'name'))
          .trim()
          .split(/\s+/);
      cluster.kubelet.fails = () => true;
      const passwords = { KAFKA_SASL_PASSWORD: 'secret' };
      try {
        await expect(install(withSecrets(passwords), '--timeout', '10s')).rejects.toThrow(/pre-install/);
      } finally {
        cluster.kubelet.fails = () => false;
      }
      expect(await names('job,deployment,service')).toEqual(['job.batch/support-topics']);
      type Job = { spec: { template: { spec: { containers: { envFrom: object[] }[] } } } };
      const { spec } = await cluster.get<Job>('job', 'support-topics', '--namespace', namespace);
      expect(spec.template.spec.containers[0]?.envFrom).toEqual([{ secretRef: { name: 'support-topics' } }]);

      // then the next attempt of a pipeline works, and a removed secret is removed from the cluster
      await upgrade(withSecrets(passwords), '--install', '--wait');
      await upgrade(withSecrets({}));
      const { data } = await cluster.get<{ data: object }>('secret', 'support-cli', '--namespace', namespace);
      expect(Object.keys(data)).toEqual(['MONGODB_URL']);
      expect(await names('job,secret')).not.toContainEqual(expect.stringContaining('topics'));
    });
  });
});
