import { setTimeout as sleep } from 'node:timers/promises';
import type { ProjectingOptions } from '../arguments.ts';
import { ConnectorFailed } from './connector.ts';
import { installConnector } from './connector-install.ts';
import type { ContenderName } from './contender-names.ts';
import { contenders, type Contender } from './contenders.ts';
import { countsFor, createDataset } from './dataset.ts';
import type { BenchEnvironment } from './environment.ts';
import { runLive, type FollowOptions } from './live.ts';
import { publishDataset, type Published } from './publish.ts';
import type { BacklogRun, FollowRun } from './result.ts';
import type { Measurements } from './summary.ts';

type RoundsDeps = { environment: BenchEnvironment; report: (line: string) => void };

/** The shares of the full dataset for backlogs and for live, and the durations. */
type Size = { share: number; liveShare: number; live: FollowOptions };

const rates = [300, 1_000, 3_000];
const fullSize: Size = { share: 3.3, liveShare: 0.25, live: { rates, secondsPerRate: 8, idleSeconds: 20 } };
const quickSize: Size = { share: 0.05, liveShare: 0.05, live: { rates, secondsPerRate: 2, idleSeconds: 2 } };

/** The generator's seed: every run of the benchmark has the same records. */
const seed = 1;
const organizations = 3;

/** Pause between two runs, so that the store's remaining work for one does not slow the next. */
const pauseMs = 1_000;

/** Runs every contender once in each round. The order rotates by one each round. */
export async function measureRounds(
  deps: RoundsDeps,
  { quick, rounds, only }: ProjectingOptions,
): Promise<Pick<Measurements, 'contenders' | 'leftOut' | 'live'>> {
  const size = quick ? quickSize : fullSize;
  const isWanted = (name: ContenderName) => only === null || only.includes(name);
  const leftOut = new Map<ContenderName, string>();
  const connectorLibs = isWanted('connector') ? await connectorOr(deps, leftOut) : '';
  const wanted = contenders.filter(({ name }) => isWanted(name) && !leftOut.has(name));
  const published = await publishBacklog(deps, size);
  const runs = new Map<ContenderName, BacklogRun[]>(wanted.map(({ name }) => [name, []]));
  const followed: FollowRun[] = [];
  const turns = [...wanted, ...(isWanted('live') ? ['live' as const] : [])];
  for (let round = 0; round < rounds; round += 1) {
    const first = round % turns.length;
    for (const turn of [...turns.slice(first), ...turns.slice(0, first)]) {
      const label = `round ${round + 1} of ${rounds}: ${turn === 'live' ? turn : turn.name}`;
      if (turn === 'live') followed.push(await measureLive(deps, size, label, round));
      else if (!leftOut.has(turn.name)) {
        const run = await measureContender(deps, turn, published, connectorLibs, label, leftOut);
        if (run) runs.get(turn.name)?.push(run);
      }
      await sleep(pauseMs);
    }
  }
  const live =
    followed.length > 0 ? { records: total(countsFor(size.liveShare, organizations)), runs: followed } : null;
  return {
    contenders: wanted
      .filter(({ name }) => !leftOut.has(name))
      .map(({ name, title }) => ({
        name,
        title,
        entities: published.entities,
        runs: runs.get(name) ?? [],
      })),
    leftOut: [...leftOut].map(([name, reason]) => ({ name, reason })),
    live,
  };
}

async function connectorOr({ report }: RoundsDeps, leftOut: Map<ContenderName, string>): Promise<string> {
  const installed = await installConnector(report);
  if ('libs' in installed) return installed.libs;
  leftOut.set('connector', installed.unavailable);
  report(`connector: left out, because it ${installed.unavailable}`);
  return '';
}

/** Publishes the records that every contender consumes. */
async function publishBacklog({ environment, report }: RoundsDeps, { share }: Size): Promise<Published> {
  const dataset = createDataset({ seed, organizations, counts: countsFor(share, organizations) });
  const published = await publishDataset(environment, dataset, `${environment.prefix}backlog.`);
  const kilobytes = (published.bytes / published.records / 1_024).toFixed(2);
  report(`published ${published.records} records, ${kilobytes} KB each on average`);
  return published;
}

async function measureContender(
  { environment, report }: RoundsDeps,
  contender: Contender,
  published: Published,
  connectorLibs: string,
  label: string,
  leftOut: Map<ContenderName, string>,
): Promise<BacklogRun | null> {
  report(`${label}…`);
  try {
    const run = await contender.run({ environment, published, connectorLibs });
    report(`${label}: ${Math.round(run.records / run.seconds)} records/s, ${run.seconds.toFixed(1)} s`);
    return run;
  } catch (error) {
    if (!(error instanceof ConnectorFailed)) throw error;
    leftOut.set(contender.name, error.message);
    report(`${label}: left out, because it ${error.message}`);
    return null;
  }
}

async function measureLive(
  { environment, report }: RoundsDeps,
  { liveShare, live }: Size,
  label: string,
  round: number,
): Promise<FollowRun> {
  report(`${label}…`);
  const counts = countsFor(liveShare, organizations);
  const dataset = createDataset({ seed, organizations, counts });
  const published = await publishDataset(environment, dataset, `${environment.prefix}live${round}.`);
  const run = await runLive(environment, published, live);
  report(`${label}: idle at ${run.idlePercent.toFixed(1)} % of a core`);
  return run;
}

const total = (counts: Record<string, number>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);
