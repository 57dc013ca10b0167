import { deadLettersOf, type DeadLetter } from '../../projector/dead-letters/collection.ts';
import { buffer } from '../../projector/dead-letters/dead-letter.ts';
import { redactHeaders } from '../../projector/dead-letters/redact-headers.ts';
import { redactRecord } from '../../projector/dead-letters/redact.ts';
import { asJson, type CommandOutput } from '../output.ts';
import type { DeadLettersCommand } from './command.ts';
import type { StoredDeadLettersDeps } from './select.ts';
import { detailsOf } from './summary.ts';

/** `warn` is told what the raw bytes may hold; stdout then has nothing but them. */
export type ShowDeps = StoredDeadLettersDeps & { warn: (line: string) => void };

export async function showDeadLetter(
  deps: ShowDeps,
  { id, raw, json }: Extract<DeadLettersCommand, { verb: 'dead-letters show' }>,
): Promise<CommandOutput> {
  const deadLetter = await deadLettersOf(deps.control).findOne({ _id: id });
  if (!deadLetter) throw new Error(`there is no dead letter ${id}: never set aside, re-driven or purged`);
  if (raw) return showRaw(deps, deadLetter, json);
  const headers = redactHeaders(
    deadLetter.headers.map(({ name, value }) => ({ name, value: buffer(value) })),
  );
  const shown = {
    ...detailsOf(deadLetter, deps.prefix),
    headers,
    value: redactRecord(buffer(deadLetter.value)),
  };
  return { text: json ? asJson(shown) : render(shown), exitCode: 0 };
}

type Shown = ReturnType<typeof detailsOf> & { headers: { name: string; value: string }[]; value: string };

function render(shown: Shown): string {
  const rows: [string, string][] = [
    ['record', shown.id],
    ['key', shown.key],
    ['org', shown.orgId ?? 'not told'],
    ['timestamp', shown.recordAt ?? 'none'],
    ['size', `${shown.bytes} bytes`],
    ...truncatedRows(shown),
    ['reason', shown.reason],
    ['detail', shown.detail],
    ['set aside', `${shown.count}×, first ${shown.firstAt}, last ${shown.lastAt}`],
    ['generation', String(shown.generation)],
    ...shown.headers.map(({ name, value }): [string, string] => ['header', `${name}: ${value}`]),
  ];
  const lines = rows.map(([name, value]) => `${name.padEnd(12)}${value}`);
  return [...lines, '', shown.value, ''].join('\n');
}

const truncatedRows = ({ truncated }: Shown): [string, string][] =>
  truncated
    ? [
        ['truncated', 'only the head of the record is kept, which cannot be re-driven'],
        ['whole key', `${truncated.keyBytes} bytes`],
        ['all headers', `${truncated.headersBytes} bytes`],
        ['whole value', `${truncated.valueBytes} bytes, SHA-256 ${truncated.sha256}`],
      ]
    : [];

function showRaw({ warn }: ShowDeps, deadLetter: DeadLetter, json: boolean): CommandOutput {
  warn('These are the bytes as the bus carried them: they may hold personal data and secrets.');
  const value = buffer(deadLetter.value);
  const { truncated } = deadLetter;
  if (truncated) warn(`Only the first ${value?.length ?? 0} of ${truncated.valueBytes} bytes are kept.`);
  if (!json) {
    if (value === null) warn('The record has no value (null).');
    return { text: value ?? '', exitCode: 0 };
  }
  const base64 = (bytes: DeadLetter['key']) => buffer(bytes)?.toString('base64') ?? null;
  const { _id: id, topic, partition, offset, timestampMs } = deadLetter;
  const headers = deadLetter.headers.map((header) => ({ name: header.name, value: base64(header.value) }));
  const record = { key: base64(deadLetter.key), headers, value: base64(deadLetter.value) };
  const text = asJson({
    id,
    topic,
    partition,
    offset,
    timestampMs,
    truncated,
    encoding: 'base64',
    ...record,
  });
  return { text, exitCode: 0 };
}
