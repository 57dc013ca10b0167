import { deadLettersOf, type DeadLetter } from '../../projector/dead-letters/dead-letters.ts';
import { buffer } from '../../projector/dead-letters/letter.ts';
import { redactHeaders } from '../../projector/events/redact-headers.ts';
import { redactRecord } from '../../projector/events/redact.ts';
import { asJson, type Printed } from '../printed.ts';
import type { DeadLettersCommand } from './command.ts';
import type { LettersDeps } from './select.ts';
import { shownLetter } from './shown.ts';

/** `warn` is told what the raw bytes may hold; stdout then has nothing but them. */
export type ShowDeps = LettersDeps & { warn: (line: string) => void };

export async function showLetter(
  deps: ShowDeps,
  { id, raw, json }: Extract<DeadLettersCommand, { verb: 'dead-letters show' }>,
): Promise<Printed> {
  const letter = await deadLettersOf(deps.control).findOne({ _id: id });
  if (!letter) throw new Error(`there is no dead letter ${id}: never set aside, re-driven or purged`);
  if (raw) return showRaw(deps, letter, json);
  const headers = redactHeaders(letter.headers.map(({ name, value }) => ({ name, value: buffer(value) })));
  const shown = { ...shownLetter(letter, deps.prefix), headers, value: redactRecord(buffer(letter.value)) };
  return { text: json ? asJson(shown) : render(shown), exitCode: 0 };
}

type Shown = ReturnType<typeof shownLetter> & { headers: { name: string; value: string }[]; value: string };

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

function showRaw({ warn }: ShowDeps, letter: DeadLetter, json: boolean): Printed {
  warn('These are the bytes as the bus carried them: they may hold personal data and secrets.');
  const value = buffer(letter.value);
  const { truncated } = letter;
  if (truncated) warn(`Only the first ${value?.length ?? 0} of ${truncated.valueBytes} bytes are kept.`);
  if (!json) {
    if (value === null) warn('The record has no value (null).');
    return { text: value ?? '', exitCode: 0 };
  }
  const base64 = (bytes: DeadLetter['key']) => buffer(bytes)?.toString('base64') ?? null;
  const { _id: id, topic, partition, offset, timestampMs } = letter;
  const headers = letter.headers.map((header) => ({ name: header.name, value: base64(header.value) }));
  const record = { key: base64(letter.key), headers, value: base64(letter.value) };
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
