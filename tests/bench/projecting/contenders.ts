import type { ContenderName } from './contender-names.ts';
import { runConnector } from './connector.ts';
import { runConsumer } from './consumer.ts';
import type { BenchEnvironment } from './environment.ts';
import { runProjector } from './projector.ts';
import type { Published } from './publish.ts';
import type { BacklogRun } from './result.ts';

/** The servers, records and connector's jars of a run. */
export type RunContext = { environment: BenchEnvironment; published: Published; connectorLibs: string };

export type Contender = {
  name: Exclude<ContenderName, 'live'>;
  title: string;
  organizations: number;
  run: (context: RunContext) => Promise<BacklogRun>;
};

/** Contenders without joins consume the records of three organizations: the number does not affect them. */
const plainOrganizations = 3;

const plain = { organizations: plainOrganizations } as const;

const projectorOf = (organizations: number) => ({
  title: `this projector, all joins, ${organizations} organization${organizations === 1 ? '' : 's'}`,
  organizations,
  run: ({ environment, published }: RunContext) => runProjector(environment, published),
});

export const contenders: Contender[] = [
  {
    name: 'discard',
    title: 'kafkajs, consume and discard',
    ...plain,
    run: ({ environment, published }) => runConsumer(environment, 'discard', published),
  },
  {
    name: 'bulk-write',
    title: 'kafkajs `eachBatch` + unguarded `bulkWrite`, no joins',
    ...plain,
    run: ({ environment, published }) => runConsumer(environment, 'bulk-write', published),
  },
  {
    name: 'connector',
    title: 'MongoDB Kafka sink connector, no joins',
    ...plain,
    run: ({ environment, published, connectorLibs }) => runConnector(environment, connectorLibs, published),
  },
  {
    name: 'update-one',
    title: 'kafkajs `eachMessage` + `updateOne`, no joins',
    ...plain,
    run: ({ environment, published }) => runConsumer(environment, 'update-one', published),
  },
  { name: 'projector-1', ...projectorOf(1) },
  { name: 'projector-3', ...projectorOf(3) },
  { name: 'projector-50', ...projectorOf(50) },
  { name: 'projector-250', ...projectorOf(250) },
];
