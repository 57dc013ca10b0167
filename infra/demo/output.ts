/** What the demo prints: `say` is left out with `--quiet`, `tell` never. */
export type Output = {
  say: (line: string) => void;
  tell: (line: string) => void;
  /** A line that the next one replaces on a terminal; elsewhere each is printed. */
  status: (line: string) => void;
  /** How far a step is, 0 to 1: a bar on a terminal, elsewhere a line at each quarter. */
  progress: (step: string, done: number) => void;
};

type Terminal = { write: (text: string) => unknown; isTTY?: boolean; columns?: number };

const barWidth = 30;

/** Prints to `terminal`, which may also be a file or a pipe. */
export function createOutput(terminal: Terminal, quiet: boolean): Output {
  const live = terminal.isTTY === true;
  let open = false;
  let quarter = -1;
  const print = (line: string) => {
    terminal.write(`${open ? '\n' : ''}${line}\n`);
    open = false;
  };
  const replace = (line: string) => {
    terminal.write(`\r\x1b[2K${line.slice(0, (terminal.columns ?? 80) - 1)}`);
    open = true;
  };
  return {
    tell: print,
    say: (line) => (quiet ? undefined : print(line)),
    status: (line) => {
      if (quiet) return;
      if (live) replace(line);
      else print(line);
    },
    progress: (step, done) => {
      if (quiet) return;
      const percent = `${Math.floor(done * 100)} %`;
      const filled = Math.floor(done * barWidth);
      if (live) replace(`${step} [${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}] ${percent}`);
      else if (Math.floor(done * 4) !== quarter) print(`${step}: ${percent}`);
      quarter = Math.floor(done * 4);
      if (done >= 1) quarter = -1;
    },
  };
}
