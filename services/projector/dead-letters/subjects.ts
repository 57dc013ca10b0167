import type { Kind } from '../../../shared/documents/document.ts';
import { idLengthMax } from '../../../shared/documents/fields.ts';
import { decodeText } from '../events/bytes.ts';
import type { BusRecord } from '../events/change.ts';
import { topics } from '../events/topics.ts';

/** Of more entities a letter does not remember that it is about them. */
const subjectsMax = 1_000;

/**
 * The entities whose deletion leaves a record without effect: its own, and the conversation of a message. Read
 * off the bytes, as what is set aside may not be readable in any other way.
 */
export function subjectsOf(kind: Kind | null, { key, headers, value }: BusRecord): string[] {
  const own = kind && topics[kind].idPrefix;
  const prefixes = [own, kind === 'message' ? topics.conversation.idPrefix : ''].filter(Boolean);
  const named = key && key.length <= idLengthMax ? decodeText(key) : null;
  const subjects = new Set(named ? [named] : []);
  if (prefixes.length === 0) return [...subjects];
  const ids = new RegExp(`(?<![A-Za-z0-9_-])(?:${prefixes.join('|')})[A-Za-z0-9_-]{1,${idLengthMax}}`, 'g');
  for (const text of [String(headers.ce_subject ?? ''), value?.toString('latin1') ?? ''])
    for (const [id] of text.matchAll(ids)) if (subjects.size < subjectsMax) subjects.add(id);
  return [...subjects];
}
