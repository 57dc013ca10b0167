/** The store's plan for a query, independent of the format of its explanation. */
export type Plan = {
  /** Names of the scanned indexes, one for each range. */
  scans: string[];
  /** Whether a stage sorts documents after reading them. */
  sorts: boolean;
  /** Whether a stage reads documents without an index. */
  readsAll: boolean;
  /** Index entries read, and documents fetched; null from the stand-in, which counts neither. */
  examined: { keys: number; documents: number } | null;
};

type Node = Record<string, unknown>;

/** Reads MongoDB's explanation (`stage`) and the stand-in's, which is PostgreSQL's (`Node Type`). */
export function planOf(explained: unknown): Plan {
  const { queryPlanner, executionStats } = explained as {
    queryPlanner: Node;
    executionStats: { totalKeysExamined: number; totalDocsExamined: number };
  };
  const root = (queryPlanner.winningPlan ?? queryPlanner.Plan) as Node;
  const nodes = nodesOf(root);
  const stages = nodes.map((node) => node.stage ?? node['Node Type']);
  return {
    scans: nodes.filter(isIndexScan).map((node) => String(node.indexName ?? node['Index Name'])),
    sorts: stages.some((stage) => ['SORT', 'Sort', 'Incremental Sort'].includes(String(stage))),
    readsAll: stages.some((stage) => ['COLLSCAN', 'Seq Scan', 'Bitmap Heap Scan'].includes(String(stage))),
    examined: queryPlanner.winningPlan
      ? { keys: executionStats.totalKeysExamined, documents: executionStats.totalDocsExamined }
      : null,
  };
}

const isIndexScan = (node: Node) =>
  node.stage === 'IXSCAN' || node['Node Type'] === 'Index Scan' || node['Node Type'] === 'Index Only Scan';

/** The node and all below it; plans nest under `inputStage(s)`, `queryPlan`, `shards` or `Plans`. */
function nodesOf(value: unknown): Node[] {
  if (Array.isArray(value)) return value.flatMap(nodesOf);
  if (typeof value !== 'object' || value === null) return [];
  const node = value as Node;
  return [node, ...Object.values(node).flatMap(nodesOf)];
}
