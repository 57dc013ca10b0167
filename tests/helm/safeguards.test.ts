import { readFileSync } from 'node:fs';

/** The test of a caller's next step after a safeguard has acted, or the reason why there is no such test. */
type Cell = { file: string; test: string } | { noTestBecause: string };

type Callers = {
  /** The next `helm upgrade` of a pipeline or of Flux. */
  pipeline: Cell;
  drain: Cell;
  autoscaler: Cell;
  /** The rollback after a failed upgrade: `--atomic`, or `--rollback-on-failure` of Helm 4. */
  automaticRollback: Cell;
  /** The next sync of Argo CD, which renders the chart without the cluster, and runs the hooks each time. */
  secondSync: Cell;
};

const releases = (test: string): Cell => ({ file: 'releases.long', test });
const refused = (test: string): Cell => ({ file: 'refused-upgrades.long', test });
const sync = (test: string): Cell => ({ file: 'sync.long', test });
const availability = (test: string): Cell => ({ file: 'availability.long', test });
const cluster = (test: string): Cell => ({ file: 'cluster.long', test });
const noTest = (reason: string): Cell => ({ noTestBecause: reason });

const nextUpgrade = refused('changes no object and prevents neither a rollback by hand nor the next upgrade');
const rolledBack = refused('leaves the release unchanged after an automatic rollback');
const drained = availability('a drain fails neither Job, and the weekly Job ends after a day');
const scaled = releases('a switch of the autoscaler and an upgrade beside it keep the running replicas');
const syncedTwice = sync('changes no object that an earlier sync has created');
const wrongSetting = cluster(
  'the replacement of an old pod has the old settings during the rollout of a wrong setting',
);

const safeguards: Record<string, Callers> = {
  'the check before an upgrade': {
    pipeline: nextUpgrade,
    drain: drained,
    autoscaler: scaled,
    automaticRollback: rolledBack,
    secondSync: sync('changes no object if the check refuses the upgrade'),
  },
  'the check before a rollback': {
    pipeline: releases(
      'a refused rollback changes no object and ends with a rollback to the running revision',
    ),
    drain: drained,
    autoscaler: scaled,
    automaticRollback: releases('the automatic rollback of a refused upgrade keeps the pod of the check'),
    secondSync: noTest('Argo CD runs no hook before a rollback'),
  },
  'the refusal of a generation that runs': {
    pipeline: nextUpgrade,
    drain: noTest('it runs in no pod'),
    autoscaler: noTest('it reads which projectors are ready, not how many'),
    automaticRollback: rolledBack,
    secondSync: noTest('without the cluster the check refuses instead'),
  },
  'the Job of the topics': {
    pipeline: releases('the Job of the topics runs before all other objects with the secrets of the CLI'),
    drain: drained,
    autoscaler: noTest('it ends before any replica starts'),
    automaticRollback: rolledBack,
    secondSync: syncedTwice,
  },
  'the refusal of values': {
    pipeline: { file: 'refusals.long', test: 'Helm refuses %s with an error that names the value' },
    drain: noTest('it runs in no pod'),
    autoscaler: { file: 'refusals.long', test: 'Helm refuses %s with an error that names the value' },
    automaticRollback: noTest('Helm records no revision'),
    secondSync: noTest('the sync ends before its hooks'),
  },
  'the budget of disruptions': {
    pipeline: noTest('a rollout asks no budget'),
    drain: cluster('a drain may evict the replicas while none of them is ready'),
    autoscaler: noTest('the end of a replica by its Deployment asks no budget'),
    automaticRollback: noTest('a rollout asks no budget'),
    secondSync: syncedTwice,
  },
  'the probe of readiness': {
    pipeline: wrongSetting,
    drain: { file: 'chart.long', test: 'a replica leaves its Service within the delay of the stop' },
    autoscaler: noTest('a replica that it removes leaves as in a drain'),
    automaticRollback: refused(
      'an automatic rollback removes new pods that never become ready and keeps the old pods',
    ),
    secondSync: wrongSetting,
  },
};

test.each(Object.entries(safeguards))('%s has a test or a reason for each caller', (_, callers) => {
  for (const cell of Object.values(callers)) {
    if ('noTestBecause' in cell) continue;
    expect(readFileSync(`tests/helm/${cell.file}.test.ts`, 'utf8')).toContain(`'${cell.test}'`);
  }
});
