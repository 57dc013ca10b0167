import { readFileSync } from 'node:fs';
import { Gauge, type Registry } from 'prom-client';

const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');

/** The release that runs: the version in package.json. */
export const { version: release } = JSON.parse(manifest) as { version: string };

/** Registers the metric that names the release. */
export function registerBuildInfo(registry: Registry): void {
  const help = 'Always 1; the label names the release';
  const registers = [registry];
  new Gauge({ name: 'support_build_info', help, labelNames: ['release'], registers }).set({ release }, 1);
}
