import { constants, openSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';

/** At most this many bytes wait while stdout accepts none. Further lines are lost. */
const waitingBytesMax = 4 * 1_024 * 1_024;
/** A line waits at most this long for other lines, to be written together with them, in milliseconds. */
const batchMs = 100;
/** The pause after a failed attempt doubles from one millisecond up to this. */
const pauseMaxMs = 100;
/** A process that ends waits at most this long for a slow reader, in milliseconds. */
const endMs = 1_000;

export type LogOutput = {
  write: (line: string) => void;
  /** Writes the lines that wait for others. The logger calls it after a fatal line. */
  flushSync: () => void;
  /** The lines lost since the start of the process. */
  linesLost: () => number;
  /** Calls `report` with the number of lost lines once stdout has accepted all waiting lines. */
  onRecovery: (report: (lines: number) => void) => void;
};

type LogOutputOptions = {
  /** Lines wait until they have this many bytes together. */
  batchBytes?: number;
  stream?: keyof typeof descriptors;
};

const descriptors = { stdout: 1, stderr: 2 } as const;

/**
 * Writes log lines to stdout, and never stops a service. While stdout takes no lines (its reader has stopped or left,
 * or the disk is full), lines wait up to a limit, and further lines are lost and counted. Lines are written together,
 * once they have `batchBytes` or after 100 ms; a process that is killed loses the waiting ones.
 */
export function createLogOutput({ batchBytes = 0, stream = 'stdout' }: LogOutputOptions = {}): LogOutput {
  let fd: number | null = null;
  const waiting = createWaitingLines();
  /** The pause before the next attempt; 0 while stdout takes lines. */
  let pauseMs = 0;
  let timer: NodeJS.Timeout | null = null;
  let lost = 0;
  let reported = 0;
  let report = (_lines: number): void => undefined;

  const wait = (ms: number) => {
    timer ??= setTimeout(flush, ms).unref();
  };
  const flush = () => {
    if (timer) clearTimeout(timer);
    timer = null;
    const { isStuck, written } = waiting.writeTo(fd);
    if (isStuck) {
      pauseMs = written > 0 ? 1 : Math.min(Math.max(1, pauseMs * 2), pauseMaxMs);
      wait(pauseMs);
      return;
    }
    pauseMs = 0;
    const lines = lost - reported;
    reported = lost;
    if (lines > 0) report(lines);
  };
  const end = () => {
    const deadline = performance.now() + endMs;
    while (waiting.writeTo(fd).isStuck && performance.now() < deadline) pauseThread(10);
  };
  return {
    write: (line) => {
      fd ??= openOutput(stream, end);
      if (!waiting.add(line)) lost += 1;
      else if (pauseMs === 0 && waiting.bytes() >= batchBytes) flush();
      else wait(batchMs);
    },
    flushSync: () => {
      if (pauseMs === 0) flush();
    },
    linesLost: () => lost,
    onRecovery: (onRecovered) => {
      report = onRecovered;
    },
  };
}

/** Lines that wait for stdout, in their order. */
function createWaitingLines() {
  let text = '';
  /** The bytes of the lines before `text` that stdout has not accepted yet. */
  let unwritten = Buffer.alloc(0);
  let bytes = 0;
  return {
    bytes: () => bytes,
    /** Adds a line; false if it does not fit. */
    add: (line: string): boolean => {
      const lineBytes = Buffer.byteLength(line);
      if (bytes + lineBytes > waitingBytesMax) return false;
      text += line;
      bytes += lineBytes;
      return true;
    },
    /** Writes until no line waits, or until `fd` accepts no more bytes: then the output is stuck. */
    writeTo: (fd: number | null): { isStuck: boolean; written: number } => {
      const bytesBefore = bytes;
      while (fd !== null && bytes > 0) {
        if (unwritten.length === 0) {
          unwritten = Buffer.from(text);
          text = '';
        }
        const written = tryWrite(fd, unwritten);
        if (written === 0) return { isStuck: true, written: bytesBefore - bytes };
        unwritten = unwritten.subarray(written);
        bytes -= written;
      }
      return { isStuck: false, written: bytesBefore - bytes };
    },
  };
}

/**
 * Returns a descriptor of the stream, and calls `end` when the process ends. A write to a pipe, a socket or a terminal
 * that nothing reads fails instead of waiting; a write to a file takes as long as its disk.
 */
function openOutput(stream: keyof typeof descriptors, end: () => void): number {
  process.once('exit', end);
  const fd = descriptors[stream];
  if (isatty(fd)) {
    try {
      // Opens a new description, because the shell's must keep its mode. Systems without this path, such as macOS,
      // wait.
      return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    } catch {
      return fd;
    }
  }
  // The getter makes Node open the stream of a pipe or socket, and such streams do not block.
  void process[stream];
  return fd;
}

/** The number of bytes written; 0 after any error, because every error may pass. */
function tryWrite(fd: number, bytes: Buffer): number {
  try {
    return writeSync(fd, bytes);
  } catch {
    return 0;
  }
}

function pauseThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
