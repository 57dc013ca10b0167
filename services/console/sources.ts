import type { Db, MongoClient } from 'mongodb';
import { kinds } from '../../shared/documents/document.ts';
import { storeTime } from '../../shared/store/clock.ts';
import { controlDatabase } from '../../shared/store/connection.ts';
import { groupIdOf, type GenerationRegistry } from '../../shared/control/generations.ts';
import { liveReplicas, type Replica } from '../../shared/control/replicas.ts';
import { listDeadLetters } from '../operations/dead-letters/list.ts';
import { commandsIn } from '../operations/deployment.ts';
import type { Check } from '../operations/rebuild/checks.ts';
import type { OperatorDeps } from '../operations/rebuild/deps.ts';
import type { Measured } from '../operations/rebuild/measure.ts';
import { measureNow, withRates, type Rated } from '../operations/rebuild/status.ts';
import { switchTo } from '../operations/rebuild/switch.ts';
import { readOwners } from '../operations/status/owners.ts';
import { readStatus } from '../operations/status/status.ts';
import { topicOf } from '../projector/events/topics.ts';
import type { ConsoleConfig } from './config.ts';
import type { HeldKafka } from './connections.ts';
import { createReading } from './readings.ts';

/** Every generation at one moment, with its rates since the measurement before, and the live API replicas. */
export type Overview = {
  registry: GenerationRegistry;
  generations: Rated[];
  replicas: Replica[];
  measured: Measured[];
};

export type SourceDeps = { config: ConsoleConfig; mongo: MongoClient; kafka: HeldKafka };

/** Everything that the pages show and that changes, read by services/operations. */
export function createSources({ config, mongo, kafka }: SourceDeps) {
  const control = controlDatabase(mongo, config.DATABASE_NAME);
  const prefix = config.TOPIC_PREFIX;
  const operate = <T>(work: (deps: OperatorDeps) => Promise<T>) =>
    kafka.use((clients) => work(operatorDeps({ config, mongo, control }, clients)));
  const overview = createReading<Overview>(
    (before) =>
      operate(async (deps) => {
        const { registry, generations: measured } = await measureNow(deps);
        const seconds = (Date.now() - (before?.at.getTime() ?? 0)) / 1_000;
        const generations = withRates(before?.value.measured ?? [], measured, seconds);
        return { registry, generations, measured, replicas: await liveReplicas(control, await deps.now()) };
      }),
    { everyMs: 1_500 },
  );
  const readings = {
    overview,
    status: createReading(() => kafka.use((clients) => readStatus({ ...clients, mongo, config })), {
      everyMs: 5_000,
    }),
    owners: createReading(
      () =>
        operate(async ({ admin }) => {
          const { value } = await overview.get();
          return readOwners(admin, groupIdOf(config, value?.registry.generation ?? 1));
        }),
      { everyMs: 5_000 },
    ),
    checks: createReading(
      () => operate(async (deps) => checkSwitches(deps, (await overview.get()).value?.generations ?? [])),
      { everyMs: 3_000 },
    ),
    deadLetters: createReading(() => listDeadLetters({ control, prefix }, {}, examplesMax), {
      everyMs: 5_000,
    }),
  };
  const close = async () => void (await Promise.all(Object.values(readings).map(({ end }) => end())));
  return { ...readings, control, prefix, commands: commandsIn[config.DEPLOYMENT], close };
}

export type Sources = ReturnType<typeof createSources>;

/** The latest dead letters are read, for an example of each reason. */
const examplesMax = 100;

const operatorDeps = (
  { config, mongo, control }: { config: ConsoleConfig; mongo: MongoClient; control: Db },
  clients: Pick<OperatorDeps, 'admin' | 'log'>,
): OperatorDeps => ({
  ...clients,
  config,
  mongo,
  control,
  by: 'console',
  topics: kinds.map((kind) => topicOf(kind, config.TOPIC_PREFIX)),
  now: () => storeTime(control),
  report: () => undefined,
});

/** The checks of `rebuild promote N --dry-run`, and for a standby of `rebuild rollback N --dry-run`, by generation. */
async function checkSwitches(deps: OperatorDeps, generations: Rated[]): Promise<Map<number, Check[]>> {
  const checks = new Map<number, Check[]>();
  for (const { number, state } of generations) {
    if (state !== 'ready' && state !== 'standby') continue;
    const rules = { needsComparison: state === 'ready' };
    // A page does not wait for a generation that lags.
    const options = { ...rules, acceptOlder: false, catchUpMs: 0, dryRun: true, timeoutSeconds: 0, why: '' };
    checks.set(number, (await switchTo(deps, number, options)).checks);
  }
  return checks;
}
