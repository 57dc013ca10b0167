/** How a shell in a clone starts the CLI. */
export const programName = 'npx support-cli';
