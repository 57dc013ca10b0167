import { Counter, type Registry } from 'prom-client';
import type { LogOutput } from './log-output.ts';

/** Registers the counter of lost log lines. Each scrape reads the count of the output. */
export function registerLinesLost(registry: Registry, { linesLost }: Pick<LogOutput, 'linesLost'>): void {
  new Counter({
    name: 'support_log_lines_lost_total',
    help: 'Log lines that were lost because stdout did not accept them: its reader has stopped, or its disk is full',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(linesLost());
    },
  });
}
