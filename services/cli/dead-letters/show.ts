import { deadLettersOf, type DeadLetter } from '../../projector/dead-letters/collection.ts';
import { buffer } from '../../projector/dead-letters/dead-letter.ts';
import { redactHeaders } from '../../operations/dead-letters/redact-headers.ts';
import { redactRecord } from '../../operations/dead-letters/redact.ts';
import { asJson, type CommandOutput } from '../output.ts';
import type { DeadLettersCommand } from './command.ts';
import type { StoredDeadLettersDeps } from './select.ts';
import { detailsOf, type DeadLetterDetails } from './summary.ts';

/** `warn` prints to stderr, so that stdout has only the raw bytes. */
export type ShowDeps = StoredDeadLettersDeps & { warn: (line: string) => void };

export async function showDeadLetter(
  deps: ShowDeps,
  { id, raw, json }: Extract<DeadLettersCommand, { verb: 'dead-letters show' }>,
): Promise<CommandOutput> {
  const deadLetter = await deadLettersOf(deps.control).findOne({ _id: id });
  if (!deadLetter)
    throw new Error(`there is no dead letter ${id}: it was never stored, or has been re-driven or purged`);
  if (raw) return showRaw(deps, deadLetter, json);
  const headers = redactHeaders(
    deadLetter.headers.map(({ name, value }) => ({ name, value: buffer(value) })),
  );
  const details = {
    ...detailsOf(deadLetter, deps.prefix),
    headers,
    value: redactRecord(buffer(deadLetter.value)),
  };
  return { text: json ? asJson(details) : render(details), exitCode: 0 };
}

type Details = DeadLetterDetails & { headers: { name: string; value: string }[]; value: string };

function render(details: Details): string {
  const rows: [string, string][] = [
    ['record', details.id],
    ['key', details.key],
    ['org', details.orgId ?? 'unknown'],
    ['timestamp', details.recordAt ?? 'none'],
    ['size', `${details.bytes} bytes`],
    ...truncatedRows(details),
    ['reason', details.reason],
    ['detail', details.detail],
    ['stored', `${details.count}×, first ${details.firstAt}, last ${details.lastAt}`],
    ['generations', details.generations.join(', ')],
    ...details.headers.map(({ name, value }): [string, string] => ['header', `${name}: ${value}`]),
  ];
  const lines = rows.map(([name, value]) => `${name.padEnd(12)}${value}`);
  return [...lines, '', details.value, ''].join('\n');
}

const truncatedRows = ({ truncated }: Details): [string, string][] =>
  truncated
    ? [
        ['truncated', 'only the head of the record is kept, so it cannot be re-driven'],
        ['whole key', `${truncated.keyBytes} bytes`],
        ['all headers', `${truncated.headersBytes} bytes`],
        ['whole value', `${truncated.valueBytes} bytes, SHA-256 ${truncated.sha256}`],
      ]
    : [];

function showRaw({ warn }: ShowDeps, deadLetter: DeadLetter, json: boolean): CommandOutput {
  warn('These are the original bytes of the record. They may contain personal data and secrets.');
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
  const place = { id, topic, partition, offset, timestampMs };
  return { text: asJson({ ...place, truncated, encoding: 'base64', ...record }), exitCode: 0 };
}
