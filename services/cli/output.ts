/** The output of a verb and its exit code. */
export type CommandOutput = { text: string | Buffer; exitCode: 0 | 1 | 3 };

export const asJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
