/** What a verb prints, and the exit code that goes with it. */
export type CommandOutput = { text: string | Buffer; exitCode: 0 | 1 };

export const asJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
