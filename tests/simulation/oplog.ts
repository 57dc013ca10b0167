import type { StoredDocument } from '../../services/projector/materialize/store.ts';

type Documents = Map<string, StoredDocument>;

/** A write of a document, and the document before it. */
export type LoggedWrite = {
  documents: Documents;
  id: string;
  before: StoredDocument | undefined;
  isRolledBack: boolean;
};

/** The writes that a majority may lack, in their order. Every reader sees them. */
export type Oplog = LoggedWrite[];

/** Records a write that is about to be done. */
export function logWrite(oplog: Oplog, documents: Documents, id: string): LoggedWrite {
  const write = { documents, id, before: documents.get(id), isRolledBack: false };
  oplog.push(write);
  return write;
}

/** A majority has the write, and so every write before it. */
export function confirm(oplog: Oplog, write: LoggedWrite): void {
  oplog.splice(0, oplog.indexOf(write) + 1);
}

/** A fail-over to a member that lacks the writes from `index` on. */
export function failOver(oplog: Oplog, index: number): void {
  for (const write of oplog.splice(index).toReversed()) {
    const { documents, id, before } = write;
    write.isRolledBack = true;
    if (before) documents.set(id, before);
    else documents.delete(id);
  }
}
