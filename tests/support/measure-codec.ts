import { readFileSync, writeSync } from 'node:fs';
import { batchBytesMax, decompressors } from '../../shared/kafka/codecs.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { peakMegabytes } from './memory.ts';

/** The outcome of one decompression in a process of its own. */
export type Measured = {
  /** The size of the output, or the message of the error. */
  outcome: number | string;
  /** By how much the peak of resident memory rose, in megabytes. */
  megabytes: number;
};

// A program: it decompresses its standard input by the codec that its argument names, and prints the outcome.
const decompress = decompressors[process.argv[2] as keyof typeof decompressors];
const content = readFileSync(0);
// Loads the code of the codec, so that its memory does not count.
await decompress(Buffer.alloc(1), batchBytesMax).catch(() => undefined);
const before = peakMegabytes(process);
const outcome = await decompress(content, batchBytesMax).then(
  (output) => output.length,
  (error: unknown) => errorMessage(error),
);
writeSync(1, JSON.stringify({ outcome, megabytes: peakMegabytes(process) - before } satisfies Measured));
