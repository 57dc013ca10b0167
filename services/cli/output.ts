/** The output of a verb and its exit code. */
export type CommandOutput = { text: string | Buffer; exitCode: 0 | 1 | 3 };

/** JSON for people and programs: one value, on several lines. */
export const asJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

/** One value on one line, for a verb that prints several. */
export const asJsonLine = (value: unknown) => `${JSON.stringify(value)}\n`;

/** Pads columns to their widest cell. The first column is text, the others are numbers. */
export function table(head: string[], rows: string[][]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ');
  return `${[head, ...rows].map(line).join('\n')}\n`;
}
