import type { ContenderName } from './contender-names.ts';
import { runConnector } from './connector.ts';
import { runBulkWrite } from './bulk-write.ts';
import type { BenchEnvironment } from './environment.ts';
import { runProjector } from './projector.ts';
import type { Published } from './publish.ts';
import type { BacklogRun } from './result.ts';

/** The servers, records and connector's jars of a run. */
export type RunContext = { environment: BenchEnvironment; published: Published; connectorLibs: string };

export type Contender = {
  name: Exclude<ContenderName, 'live'>;
  title: string;
  run: (context: RunContext) => Promise<BacklogRun>;
};

export const contenders: Contender[] = [
  {
    name: 'bulk-write',
    title: 'kafkajs `eachBatch` + unguarded `bulkWrite`, no joins',
    run: ({ environment, published }) => runBulkWrite(environment, published),
  },
  {
    name: 'connector',
    title: 'MongoDB Kafka sink connector, no joins',
    run: ({ environment, published, connectorLibs }) => runConnector(environment, connectorLibs, published),
  },
  {
    name: 'projector',
    title: 'this projector, all joins',
    run: ({ environment, published }) => runProjector(environment, published),
  },
];
