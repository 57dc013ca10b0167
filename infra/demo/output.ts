/** The demo's output. `--quiet` suppresses everything except `always`. */
export type Output = {
  say: (line: string) => void;
  always: (line: string) => void;
  /** On a terminal the next line replaces this one; elsewhere each line is printed. */
  status: (line: string) => void;
  /** The progress of a step, 0 to 1: a bar on a terminal, elsewhere a line at each quarter. */
  progress: (step: string, done: number) => void;
};

type Terminal = { write: (text: string) => unknown; isTTY?: boolean; columns?: number };

const barWidth = 30;

/** Prints to `terminal`, which can also be a file or a pipe. */
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
    always: print,
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
