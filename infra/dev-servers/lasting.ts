import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { cacheDir, withLock } from './native/cache.ts';
import { acceptsConnections } from './native/ports.ts';
import type { Stack } from './provider.ts';
import { startStack } from './stack.ts';
import { storeAnswers } from './store.ts';

/** A stack that outlives the command that started it. A further process, the holder, keeps it until `down`. */
type LastingStack = Pick<Stack, 'kafkaBrokers' | 'mongodbUrl' | 'store' | 'how'>;

/**
 * The paths of the stack of this clone in a cache. Each clone of the repository has a folder of its own, so clones do
 * not share servers or data.
 */
export function stackPaths(cache: string) {
  const clone = join(import.meta.dirname, '../..');
  const cloneHash = createHash('sha256').update(clone).digest('hex');
  const dir = join(cache, 'stack', cloneHash.slice(0, 12));
  return {
    dir,
    dataDir: join(dir, 'data'),
    /** The socket on which the holder answers. */
    socketFile: join(dir, 'socket'),
    /** The error output of the holder, which shows a failure before the holder could report to its parent. */
    errorFile: join(dir, 'errors.log'),
  };
}

const { dir, dataDir, socketFile, errorFile } = stackPaths(cacheDir());
export { dataDir };
/** The longest path of a socket, in bytes: macOS allows 103, Linux 107. */
const socketBytesMax = 103;

/** Returns the holder's stack, or undefined if there is no holder. `stop` also stops it; rejects if that fails. */
async function ask(question: 'stack' | 'stop'): Promise<LastingStack | undefined> {
  const reply = await text(connect(socketFile).end(question)).catch(() => '');
  const { stack, failure } = JSON.parse(reply || '{}') as { stack?: LastingStack; failure?: string };
  if (failure) throw new Error(failure);
  return stack;
}

/** The stack, and one line for each server: its name, whether it answers, its address. */
export async function readStack() {
  const stack = await ask('stack');
  if (!stack) return { stack, isUp: false, lines: ['The stack is not up.'] };
  const { kafkaBrokers, mongodbUrl, store } = stack;
  const kafkaPort = Number(/\d+$/.exec(kafkaBrokers)?.[0]);
  const [kafkaRuns, storeRuns] = await Promise.all([acceptsConnections(kafkaPort), storeAnswers(mongodbUrl)]);
  const line = (name: string, runs: boolean, address: string) =>
    `${name}  ${runs ? 'running' : 'not running'}  ${address}`;
  const lines = [line('Kafka', kafkaRuns, kafkaBrokers), line(store, storeRuns, mongodbUrl)];
  return { stack, isUp: kafkaRuns && storeRuns, lines };
}

/** Starts a stack, unless all servers of the previous stack run. First stops the servers of a broken stack. */
export const bringUp = (report: (line: string) => void): Promise<LastingStack> =>
  withStackLock(async () => {
    const previous = await readStack();
    if (previous.stack && previous.isUp) {
      report('The stack is already up.');
      return previous.stack;
    }
    if (Buffer.byteLength(socketFile) > socketBytesMax)
      throw new Error(`${socketFile} is too long for a socket: set XDG_CACHE_HOME to a shorter folder`);
    await ask('stop');
    await rm(dir, { recursive: true, force: true });
    await mkdir(dir);
    const main = join(import.meta.dirname, 'main.ts');
    await using errors = await open(errorFile, 'w');
    const holder = fork(main, ['hold'], { detached: true, stdio: ['ignore', 'ignore', errors.fd, 'ipc'] });
    holder.on('message', (line) => report(line as string));
    await once(holder, 'disconnect');
    holder.unref();
    const stack = await ask('stack');
    if (!stack)
      throw new Error(`The stack could not be started.\n${await readFile(errorFile, 'utf8')}`.trimEnd());
    return stack;
  });

/** Stops the servers and removes their data. Does nothing if there is no stack. */
export const bringDown = (report: (line: string) => void): Promise<void> =>
  withStackLock(async () => {
    const stack = await ask('stop');
    await rm(dir, { recursive: true, force: true });
    report(stack ? `Stopped Kafka and ${stack.store}, and removed the data.` : 'The stack is not up.');
  });

/**
 * The work of the holder: starts a stack, and keeps it until a command asks to stop it. Reports progress to the
 * parent, then disconnects, so the parent can exit.
 */
export async function hold(): Promise<void> {
  // If the parent dies first, ends the process group: this process, and the installers that it has started.
  const giveUp = () => process.kill(-process.pid, 'SIGTERM');
  process.once('disconnect', giveUp);
  const report = (line: string): void => {
    process.send?.(line);
  };
  try {
    const stack = await startStack({ report, dataDir, providers: ['docker', 'native'] });
    const listening = createServer({ allowHalfOpen: true }, (socket) => {
      // Ignores errors: a client that has disconnected needs no answer.
      socket.on('error', () => undefined);
      answer(socket, stack).catch(() => undefined);
    });
    await once(listening.listen(socketFile), 'listening');
  } catch (error) {
    report(errorMessage(error));
  }
  process.off('disconnect', giveUp);
  process.disconnect?.();
}

/** Answers one question. The holder exits once it has stopped the servers. */
async function answer(socket: Socket, { stop, servers: _, ...stack }: Stack): Promise<void> {
  const question = await readQuestion(socket);
  if (question !== 'stop') {
    socket.end(JSON.stringify({ stack }));
    return;
  }
  try {
    await stop();
  } catch (error) {
    socket.end(JSON.stringify({ stack, failure: errorMessage(error) }));
    return;
  }
  socket.end(JSON.stringify({ stack }), () => process.exit());
}

/**
 * Reads until the client ends its half of the connection. Node's `text` would also close this half, before the answer.
 */
export async function readQuestion(socket: Socket): Promise<string> {
  let question = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) question += String(chunk);
  return question;
}

/** Runs `work` while no other command changes the stack of this clone. */
async function withStackLock<T>(work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(dir), { recursive: true });
  return withLock(`${dir}.lock`, work);
}
