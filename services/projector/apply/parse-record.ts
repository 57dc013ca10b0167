import type { SkippedOffsets } from '../../../shared/control/ledger-store.ts';
import { projectorError, type Rejection } from '../../../shared/control/rejections.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { isCodeError } from '../../../shared/store/code-errors.ts';
import type { Change } from '../events/change.ts';
import { parse } from '../events/parse.ts';

/** The change of a record, or the reason of its dead letter. `error` is set if the parser has thrown it. */
type ParsedRecord = { change: Change } | { rejected: Rejection; error?: unknown };

/**
 * Parses a record, unless an operator skips it. If the parser throws, the record becomes a dead letter. Otherwise its
 * partition would retry it forever.
 */
export function parseRecord(kind: Kind, record: KafkaRecord, skipped?: SkippedOffsets): ParsedRecord {
  const rejection = skipped?.get(record.position.offset);
  if (rejection) return { rejected: rejection };
  try {
    return parse(kind, record);
  } catch (error) {
    if (!isCodeError(error)) throw error;
    return { rejected: projectorError('parse', error), error };
  }
}
