/** The output of a verb and its exit code. */
export type CommandOutput = { text: string | Buffer; exitCode: 0 | 1 | 3 };

/** JSON for people and programs: one value, on several lines. */
export const asJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

/** One value on one line, for a verb that prints several. */
export const asJsonLine = (value: unknown) => `${JSON.stringify(value)}\n`;
