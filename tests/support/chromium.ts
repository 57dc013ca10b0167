import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';
import { aptInstall } from '../../infra/dev-servers/native/prerequisites.ts';
import { step } from '../../infra/dev-servers/native/progress.ts';

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

/** Debian's Chromium, with a fresh profile. Installs the package first if it is absent. */
export async function startChromium(): Promise<Browser> {
  if (!existsSync(executablePath)) await install();
  return chromium.launch({ executablePath, args: flags });
}

async function install(): Promise<void> {
  const say = (line: string) => process.stdout.write(`${line}\n`);
  try {
    await step(say, 'Debian package chromium: installing', () => aptInstall(['chromium']));
  } catch (error) {
    throw new Error(
      `needs Chromium at ${executablePath}, and installing it failed: install Debian's package chromium, or run on Debian as root`,
      { cause: error },
    );
  }
}
