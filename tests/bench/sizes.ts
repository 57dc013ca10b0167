import { BSON } from 'mongodb';
import { kinds, type Kind } from '../../shared/documents/document.ts';
import { resources } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { createDataset } from './dataset.ts';
import { withScratch } from './environment.ts';
import { appliedTo, startProjector } from './processes.ts';
import { publishDataset } from './publish.ts';
import { renderTable, runBenchmark, type Column, type ReportOptions } from './report.ts';

/** The documents of one kind: their number, bytes as BSON, and entries in all indexes of the collection. */
type Sizes = { kind: Kind; documents: number; bytes: number[]; indexEntries: number };

const records = 11_500;

/** Measures how large the documents of each kind are that a projector has made. */
export const benchSizes = (options: ReportOptions): Promise<void> =>
  runBenchmark('sizes', 'docs/capacity.md', options, async (environment) => {
    const prefix = `${environment.prefix}sizes.`;
    const { ends } = await publishDataset(environment, createDataset(records), prefix);
    const measured = await withScratch(environment, async ({ name, control, database }) => {
      const projector = startProjector(environment, name, prefix);
      try {
        await appliedTo(control, ends, projector);
        return await Promise.all(
          kinds.map(async (kind) =>
            sizesOf(kind, await collectionOf<StoredDocument>(database, kind).find().toArray()),
          ),
        );
      } finally {
        await projector.stop();
      }
    });
    const firstCells = ({ kind }: Sizes) => [resources[kind].collection];
    return { measured, parts: [renderTable(['collection'], measured, firstCells, columns)], goals: [] };
  });

function sizesOf(kind: Kind, documents: StoredDocument[]): Sizes {
  const entries = ({ refs = [] }: StoredDocument) =>
    // The index of ids comes on top of the declared ones; that of the references has one entry for each of them.
    resources[kind].indexes.reduce((sum, { key }) => sum + ('refs' in key ? refs.length : 1), 1);
  return {
    kind,
    documents: documents.length,
    bytes: documents.map((document) => BSON.calculateObjectSize(document)),
    indexEntries: documents.reduce((sum, document) => sum + entries(document), 0),
  };
}

const columns: Column<Sizes>[] = [
  { title: 'documents', figure: ({ documents }) => documents },
  {
    title: 'bytes each',
    figure: ({ bytes, documents }) => bytes.reduce((sum, size) => sum + size, 0) / documents,
  },
  { title: 'largest', figure: ({ bytes }) => Math.max(...bytes) },
  {
    title: 'index entries each',
    digits: 1,
    figure: ({ indexEntries, documents }) => indexEntries / documents,
  },
];
