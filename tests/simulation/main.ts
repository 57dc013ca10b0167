import { inspect, parseArgs } from 'node:util';
import { projections } from '../../services/projector/projections/projections.ts';
import { bounds } from '../convergence/fold.ts';
import { narrow, randomHistory } from '../convergence/history.ts';
import { longHistory } from './long-history.ts';
import { shrink } from './shrink.ts';
import { simulate } from './simulate.ts';

/**
 * `npx node tests/simulation/main.ts [--schedules N] [--seed N]`: runs the engine under N random schedules, from the
 * seed upwards. At the first that does not converge it prints the seed and the shortest failing history found, and
 * exits 1. See docs/internals/simulation.md.
 */
const { values } = parseArgs({
  options: { schedules: { type: 'string', default: '10000' }, seed: { type: 'string', default: '1' } },
});
const schedules = Number(values.schedules);
const firstSeed = Number(values.seed);

/** Schedules that share a history. */
const perHistory = 4;
/** The histories take these maxima of embedded conversations by rotation. Some histories have more conversations. */
const embeddedMax = [200, 2, 1];

/** Limits the conversations that a ticket embeds, both in the engine and in the fold. */
function embedAtMost(max: number): void {
  const conversations = projections.ticket.edges.find((edge) => edge.type === 'children');
  if (!conversations) throw new Error('tickets embed no conversations');
  conversations.max = max;
  bounds.embeddedConversations = max;
}

let history = randomHistory(1, 0);
for (let seed = firstSeed; seed < firstSeed + schedules; seed += 1) {
  const historySeed = Math.floor(seed / perHistory);
  if (seed === firstSeed || seed % perHistory === 0) {
    const length = 12 + (historySeed % 24);
    history =
      historySeed % 2 === 0
        ? randomHistory(historySeed, length, { population: narrow })
        : longHistory(historySeed, 2 * length, narrow);
    embedAtMost(embeddedMax[historySeed % embeddedMax.length] ?? 1);
  }
  const failure = await simulate(history, seed);
  if (!failure) continue;
  const shortest = await shrink({ history, seed, failure });
  console.log(
    `Seed ${seed} does not converge: npx node tests/simulation/main.ts --schedules 1 --seed ${seed}`,
  );
  console.log(`Its shortest history found, under schedule ${shortest.seed}:`);
  for (const { kind, id, orgId, version, op, data } of shortest.history)
    console.log(
      `  ${kind} ${id} of ${orgId} ${op} at version ${version} ${data ? JSON.stringify(data) : ''}`,
    );
  console.log('Its steps:');
  for (const step of shortest.failure.trace) console.log(`  ${step}`);
  console.log('What differs:', inspect(shortest.failure.differing, { depth: 9 }));
  process.exit(1);
}
console.log(`${schedules} schedules from seed ${firstSeed} converged`);
