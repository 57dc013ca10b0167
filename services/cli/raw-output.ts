import type { CommandOutput, Terminal } from './context.ts';
import { asJson } from './output.ts';

type RawRecord = {
  key: Buffer | null;
  headers: { name: string; value: Buffer | null }[];
  value: Buffer | null;
};

/**
 * The original bytes of a record: of its value or, as JSON, of key, headers and value in base64. Warnings go to standard
 * error, so that standard output has only the bytes.
 */
export function rawOutput(
  { report }: Terminal,
  place: object,
  { key, headers, value }: RawRecord,
  json: boolean,
): CommandOutput {
  report('These are the original bytes of the record. They may contain personal data and secrets.');
  if (!json) {
    if (value === null) report('The record has no value (null).');
    return { text: value ?? '', exitCode: 0 };
  }
  const base64 = (bytes: Buffer | null) => bytes?.toString('base64') ?? null;
  const encoded = headers.map((header) => ({ name: header.name, value: base64(header.value) }));
  const record = { key: base64(key), headers: encoded, value: base64(value) };
  return { text: asJson({ ...place, encoding: 'base64', ...record }), exitCode: 0 };
}
