import type { Kind } from '../../../shared/documents/document.ts';
import { idLengthMax } from '../../../shared/documents/fields.ts';
import { decodeText } from '../events/bytes.ts';
import type { KafkaRecord } from '../events/change.ts';
import { readContent } from '../events/content-mode.ts';
import { topics } from '../events/topics.ts';

/** Of more entities a letter does not remember that it is about them. */
const subjectsMax = 100;

/**
 * The entities whose deletion leaves a record without effect: its own, and the conversation of a message. Where
 * the record names them in their places, those; else whatever its bytes name, as what is set aside may not be
 * readable in any other way. A text that mentions an entity is not about it.
 */
export function subjectsOf(kind: Kind | null, record: KafkaRecord): string[] {
  const state = kind && topics[kind].idPrefix;
  const prefixes = [state, kind === 'message' ? topics.conversation.idPrefix : ''].filter((one) => !!one);
  const { key } = record;
  const named = key && key.length <= idLengthMax ? decodeText(key) : null;
  const subjects = new Set(named ? [named] : []);
  if (prefixes.length === 0) return [...subjects];
  const ids = new RegExp(`(?<![A-Za-z0-9_-])(?:${prefixes.join('|')})[A-Za-z0-9_-]{1,${idLengthMax}}`, 'g');
  for (const text of inPlace(kind, record) ?? anywhere(record))
    for (const [id] of text.matchAll(ids)) if (subjects.size < subjectsMax) subjects.add(id);
  return [...subjects];
}

const anywhere = ({ headers, value }: KafkaRecord): string[] => [
  String(headers.ce_subject ?? ''),
  value?.toString('latin1') ?? '',
];

/** What stands where a valid record names its subjects; null where that cannot be told. */
function inPlace(kind: Kind | null, record: KafkaRecord): string[] | null {
  const content = readContent(record);
  if (content === 'tombstone' || 'rejected' in content) return null;
  const data = content.data();
  if ('rejected' in data || typeof data.value !== 'object' || data.value === null) return null;
  const { id, conversationId } = data.value as { id?: unknown; conversationId?: unknown };
  const { subject } = content.attributes;
  const places = kind === 'message' ? [subject, id, conversationId] : [subject, id];
  return places.every((text) => typeof text === 'string') ? places : null;
}
