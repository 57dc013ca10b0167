import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { requireTools, type Tool } from '../../infra/dev-servers/native/prerequisites.ts';

const executablePath = '/usr/bin/chromium';

/** Turns off background traffic and first-run pages. */
const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const tool: Tool = {
  what: `Chromium at ${executablePath}`,
  package: 'chromium',
  present: async () => existsSync(executablePath),
};

/** Debian's Chromium, with a fresh profile. Installs the package first if it is absent. */
export async function startChromium(): Promise<Browser> {
  await requireTools((line) => process.stdout.write(`${line}\n`), 'the test', [tool]);
  return chromium.launch({ executablePath, args: flags });
}
