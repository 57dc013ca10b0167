import type { HoldCause } from '../../../shared/control/hold-causes.ts';
import {
  before,
  facts,
  factsOf,
  now,
  partitionFacts,
  projector,
  report as comparison,
} from '../../../tests/support/facts.ts';
import { commandsIn } from '../../operations/deployment.ts';
import type { Facts } from '../../operations/facts.ts';
import { evaluateRules } from '../../operations/findings.ts';
import type { TopicFacts } from '../../operations/partitions.ts';
import { reportOf } from '../../operations/report.ts';
import type { Page } from '../layout.ts';
import type { Sources } from '../sources.ts';
import { generationsPage } from './generations.ts';
import { overviewPage } from './overview.ts';
import { topicsPage } from './topics.ts';

beforeAll(() => void jest.useFakeTimers({ now }));

/** The regions of a page over facts, as one text. */
async function shown(page: (sources: Sources) => Page, about: Facts, query = ''): Promise<string> {
  const known = (value: unknown) => async () => ({ value, at: new Date(), problem: null });
  const overview = known({ facts: about, findings: evaluateRules(about), report: reportOf(about) });
  const sources = {
    overview,
    samples: known([]),
    commands: commandsIn[about.deployment],
  } as unknown as Sources;
  const regions = await page(sources).regions?.(new URLSearchParams(query));
  return Object.values(regions ?? {})
    .map(({ html }) => html)
    .join('\n')
    .replace(/\s+/g, ' ');
}

const text = (page: string) => page.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
const cards = (page: string) =>
  [...page.matchAll(/<li class="finding (\w+)">(.*?)<\/li>/g)].map(
    ([, state = '', card = '']) => `${state}: ${text(card).trim()}`,
  );
const tile = (page: string, name: string) =>
  new RegExp(`<div class="(\\w*)"> <dt>${name}</dt> <dd>(.*?)</dd>`).exec(page)?.[1];

const topic = (changes: Partial<TopicFacts> & { cause?: HoldCause | null } = {}): TopicFacts => ({
  topic: 'support.contacts',
  position: 25,
  end: 125,
  lag: 100,
  lagSeconds: null,
  recordsPerSecond: 5,
  secondsLeft: 60,
  cause: 'backlog',
  waitingSince: null,
  throttledMs: null,
  ...changes,
});
const stopped = { savedAt: before(480), lagSeconds: 475, watermark: before(480), lag: 40 };
const kafkaAway = { ...facts([]).kafka, problem: 'connect ECONNREFUSED' };

test('one cause has one card although the data lags for that cause', async () => {
  const killed = await shown(overviewPage, facts([factsOf(1, 'active', stopped)], { replicas: [] }));
  const generation = await shown(generationsPage, facts([factsOf(1, 'active', stopped)]));
  expect(generation).toContain('Generation 1: active, stopped');
  expect(cards(killed)).toEqual([
    'bad: no API replica is live',
    'bad: generation 1: no projector has run for 8 min GENERATION=1 npm run projector',
  ]);
  const cutOff = { ...stopped, projectors: [projector({ state: 'cut_off', reason: 'ECONNREFUSED' })] };
  const away = await shown(overviewPage, facts([factsOf(1, 'active', cutOff)], { kafka: kafkaAway }));
  expect(cards(away)).toEqual(['bad: Kafka (KAFKA_BROKERS): connect ECONNREFUSED']);
  const failing = factsOf(1, 'active', { lagSeconds: 475 });
  expect(cards(await shown(overviewPage, facts([failing])))).toEqual(['bad: generation 1: it lags by 475 s']);
});

test('a verdict with the command of its finding has no card for the finding', async () => {
  const page = await shown(overviewPage, facts([factsOf(1, 'active', { savedAt: before(60) })]));
  expect(text(page)).toMatch(/Not well: no projector has run for 60 s ?. GENERATION=1 npm run projector/);
  expect(cards(page)).toEqual([]);
});

test('a tile has the colour of its finding and an unknown number without Kafka', async () => {
  const about = facts([factsOf(1, 'active', { ...stopped, topics: [topic({ lag: null })] })], {
    replicas: [],
    deadLetters: 3,
    kafka: kafkaAway,
  });
  const page = await shown(overviewPage, about);
  const names = [
    'Data-As-Of',
    'Records to apply',
    'Dead letters',
    'API replicas',
    'Projectors',
    'Generation',
  ];
  expect(names.map((name) => tile(page, name))).toEqual(['bad', 'bad', 'warn', 'bad', 'bad', '']);
  expect(text(page)).toMatch(/Records to apply unknown .* Projectors unknown/);
  expect(text(await shown(generationsPage, about))).toContain('an unknown number of records to apply');
  expect(text(await shown(topicsPage, about))).toContain('support.contacts 25 unknown unknown 5');
});

test('a first load shows its progress and the remaining time and not a failure', async () => {
  const loading = { lagSeconds: null, watermark: null, lag: 100, topics: [topic({ secondsLeft: 240 })] };
  const page = await shown(overviewPage, facts([factsOf(1, 'active', loading)]));
  expect(page).toContain('<p class="verdict warn">');
  expect(page).toContain('<progress max="1" value="0.200" aria-label="Generation 1: First load"');
  expect(text(page)).toContain('25 of 125 records, 5 a second, 4 min left');
  expect(cards(page)).toEqual([]);
  const dead = await shown(overviewPage, facts([factsOf(1, 'active', { ...loading, savedAt: before(60) })]));
  expect(dead).toContain('<p class="verdict bad">');
});

test('a rebuild is on the overview', async () => {
  const build = factsOf(2, 'building', { lag: 1_000, topics: [topic()] });
  const page = text(await shown(overviewPage, facts([factsOf(1, 'active'), build])));
  expect(page).toContain(
    'Generation 2: building 1. Load 25 of 125 records, 5 a second, 3 min left 2. Catch up',
  );
});

test('each generation shows its next command in the deployment once', async () => {
  const generations = [
    factsOf(1, 'active'),
    factsOf(2, 'ready'),
    factsOf(3, 'ready', { generation: { report: comparison } }),
    factsOf(4, 'building', { savedAt: null, watermark: null, lagSeconds: null }),
    factsOf(5, 'standby'),
  ];
  const copied = async (shownGenerations: typeof generations) => {
    const page = await shown(generationsPage, facts(shownGenerations, { deployment: 'helm' }));
    return [text(page), ...[...page.matchAll(/data-copy="([^"]*)"/g)].map(([, command]) => command)];
  };
  const [page, ...commands] = await copied(generations);
  expect(commands).toEqual([
    'support-cli rebuild compare 2',
    'support-cli rebuild promote 3',
    'helm upgrade with { number: 4, replicas: 1 } in generations',
    'support-cli rebuild await 4',
    'support-cli rebuild rollback 5',
  ]);
  expect(page).toContain('○ not yet generation 2 was not compared with the active one');
  expect(page).toContain('Checks before a promotion: 10 of 11 pass');
  expect((await copied([factsOf(1, 'active')])).slice(1)).toEqual(['support-cli rebuild start']);
});

test('a comparison has its counts, operator and age', async () => {
  const compared = factsOf(2, 'ready', {
    generation: { report: { ...comparison, differences: 2, expected: 8 } },
  });
  const page = text(await shown(generationsPage, facts([factsOf(1, 'active'), compared])));
  expect(page).toContain(
    '3 documents compared with generation 1: 2 unintended differences, 8 intended differences; by ann, 60 s ago',
  );
  expect(page).toContain('✗ failed differences in');
});

test('a switch is not offered while Kafka is away', async () => {
  const page = await shown(
    generationsPage,
    facts([factsOf(1, 'active'), factsOf(2, 'standby')], { kafka: kafkaAway }),
  );
  expect(text(page)).toContain('✗ failed Kafka (KAFKA_BROKERS): connect ECONNREFUSED');
  expect(page).not.toContain('rebuild rollback');
});

test('a promotion is one row of the history', async () => {
  const about = facts([factsOf(1, 'standby'), factsOf(2, 'active')]);
  const change = { at: now, by: 'ann', why: 'a promotion' };
  const earlier = Array.from({ length: 20 }, (_, index) => ({ generation: 3, why: `start ${index}` }));
  const history = [
    ...earlier.map((transition) => ({ ...change, ...transition, from: null, to: 'building' }) as const),
    { ...change, generation: 1, from: 'active', to: 'standby' } as const,
    { ...change, generation: 2, from: 'ready', to: 'active' } as const,
  ];
  const page = await shown(generationsPage, {
    ...about,
    registry: about.registry && { ...about.registry, history },
  });
  const reasons = [...text(page).matchAll(/ ann (a promotion|start \d+)/g)].map(([, why]) => why);
  expect(reasons).toHaveLength(20);
  expect(reasons.slice(0, 2)).toEqual(['a promotion', 'start 19']);
  expect(text(page)).toContain('1: active → standby 2: ready → active ann a promotion');
});

test('the row of a topic that lags has a colour, except in a build', async () => {
  const topics = [
    topic({ lag: 0, cause: null, lagSeconds: 0 }),
    topic({ lagSeconds: 20 }),
    topic({ lagSeconds: 60 }),
    topic({ cause: 'unassigned', lagSeconds: 0 }),
    topic({ cause: 'unreadable', lagSeconds: null }),
  ];
  const about = facts([factsOf(1, 'active', { topics }), factsOf(2, 'building', { topics })]);
  const states = async (query: string) =>
    [...(await shown(topicsPage, about, query)).matchAll(/<span class="finding (\w*)"/g)].map(
      ([, state]) => state,
    );
  expect(await states('')).toEqual(['', 'warn', 'bad', 'bad', 'bad']);
  expect(await states('generation=2')).toEqual(['', '', '', '', '']);
});

test('the page shows the 200 partitions of a topic with the longest lag', async () => {
  const members = ['a', 'b'].map((memberId) => {
    return { memberId, clientId: 'projector', host: 'h', partitions: [], foreignBecause: null };
  });
  const partitions = Array.from({ length: 201 }, (_, lagSeconds) => {
    const owner = members[lagSeconds % 2] ?? null;
    return { ...partitionFacts, topic: 'support.contacts', partition: lagSeconds, lagSeconds, owner };
  });
  const { kafka, ...about } = facts([factsOf(1, 'active', { partitions, topics: [topic()] })]);
  const known = { ...about, kafka: { ...kafka, members: new Map([[1, members]]) } };
  const page = text(await shown(topicsPage, known, 'topic=support.contacts'));
  expect(page).toContain('201 partitions of support.contacts, the longest lag first, the first 200');
  const rows = [...page.matchAll(/contacts\/(\d+) .*? projector (\d)/g)].map(([, ...row]) => row.map(Number));
  expect(rows.length).toBe(200);
  expect([rows[0], rows[199]]).toEqual([
    [200, 1],
    [1, 2],
  ]);
});

test('a replica is shown with its requests in progress on all generations', async () => {
  const about = facts([factsOf(1, 'standby'), factsOf(2, 'active')]);
  const inProgress = [1, 2].map((generation) => ({ generation, requests: generation + 1 }));
  const replicas = about.replicas.map((replica) => ({ ...replica, generation: 2, inProgress }));
  expect(text(await shown(overviewPage, { ...about, replicas }))).toContain('process 1 on h 1 2 5');
});
