import type { OnRecordStepFailed } from '../../../shared/control/rejections.ts';
import { idLengthMax } from '../../../shared/documents/fields.ts';
import { type Kind, resources } from '../../../shared/documents/resources.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { isCodeError } from '../../../shared/store/code-errors.ts';
import { decodeText } from '../events/bytes.ts';
import { readContent } from '../events/content-mode.ts';

/** The most subjects of a dead letter. */
const subjectsMax = 100;

/**
 * The entities whose deletion leaves a record without effect: its own, and the conversation of a message. Only the
 * fields that name them count, since a text may mention any entity. If a rejected record lacks such a field, or makes
 * the code throw, every id in its bytes counts.
 */
export function subjectsOf(
  kind: Kind | null,
  record: KafkaRecord,
  onFailed: OnRecordStepFailed = () => undefined,
): string[] {
  for (const textsOf of [fieldTexts, allTexts]) {
    try {
      const texts = textsOf(kind, record);
      if (texts) return subjectsIn(texts, kind, record);
    } catch (error) {
      if (!isCodeError(error)) throw error;
      onFailed('subjects', error);
    }
  }
  return subjectsIn([], kind, record);
}

function subjectsIn(texts: string[], kind: Kind | null, { key }: KafkaRecord): string[] {
  const prefixes = [
    kind && resources[kind].idPrefix,
    kind === 'message' && resources.conversation.idPrefix,
  ].filter((prefix) => !!prefix);
  const keyText = key && key.length <= idLengthMax ? decodeText(key) : null;
  const subjects = new Set(keyText ? [keyText] : []);
  if (prefixes.length === 0) return [...subjects];
  const ids = new RegExp(`(?<![A-Za-z0-9_-])(?:${prefixes.join('|')})[A-Za-z0-9_-]{1,${idLengthMax}}`, 'g');
  for (const text of texts) {
    for (const [id] of text.matchAll(ids)) {
      if (subjects.size < subjectsMax) subjects.add(id);
    }
  }
  return [...subjects];
}

const allTexts = (_: Kind | null, { headers, value }: KafkaRecord): string[] => [
  headers.toString('latin1'),
  value?.toString('latin1') ?? '',
];

/** The fields of a record that name its subjects; null if a field is not text. */
function fieldTexts(kind: Kind | null, record: KafkaRecord): string[] | null {
  const content = readContent(record);
  if (content === 'tombstone' || 'rejected' in content) return null;
  const data = content.data();
  if ('rejected' in data || typeof data.value !== 'object' || data.value === null) return null;
  const { id, conversationId } = data.value as { id?: unknown; conversationId?: unknown };
  const { subject } = content.attributes;
  const fields = kind === 'message' ? [subject, id, conversationId] : [subject, id];
  return fields.every((text) => typeof text === 'string') ? fields : null;
}
