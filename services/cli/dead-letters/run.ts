import { createInterface } from 'node:readline/promises';
import type { MongoClient } from 'mongodb';
import type { z } from 'zod';
import { projectionVersion } from '../../../shared/store/generations.ts';
import { requireRegistry, isLiving } from '../../projector/generations/registry.ts';
import { controlDatabase, generationDatabase } from '../../../shared/store/connection.ts';
import { mongoStore } from '../../projector/materialize/mongo-store.ts';
import type { deadLetterSettings } from '../config.ts';
import type { CommandOutput } from '../output.ts';
import type { DeadLettersCommand } from './command.ts';
import { listDeadLetters } from './list.ts';
import { purgeDeadLetters } from './purge.ts';
import { redriveDeadLetters } from './redrive.ts';
import { showDeadLetter } from './show.ts';

export type DeadLettersDeps = {
  mongo: MongoClient;
  config: z.output<z.ZodObject<typeof deadLetterSettings>>;
  now: () => Date;
};

/** Runs a dead-letter verb. All of them need only the store. */
export async function runDeadLetters(
  deps: DeadLettersDeps,
  command: DeadLettersCommand,
): Promise<CommandOutput> {
  const { mongo, config, now } = deps;
  const control = controlDatabase(mongo, config.DATABASE_NAME);
  const deadLetters = { control, prefix: config.TOPIC_PREFIX };
  switch (command.verb) {
    case 'dead-letters list':
      return listDeadLetters(deadLetters, command);
    case 'dead-letters show':
      return showDeadLetter({ ...deadLetters, warn: (line) => process.stderr.write(`${line}\n`) }, command);
    case 'dead-letters redrive': {
      const { generations } = await requireRegistry(control);
      const targets = generations
        .filter((one) => isLiving(one) && one.projectionVersion === projectionVersion)
        .map(({ number: generation }) => ({
          generation,
          store: mongoStore(generationDatabase(mongo, config.DATABASE_NAME, generation)),
        }));
      const rules = { tombstoneDays: config.TOMBSTONE_DAYS, now };
      return redriveDeadLetters({ ...deadLetters, ...rules, targets, progress }, command);
    }
    case 'dead-letters purge':
      return purgeDeadLetters({ ...deadLetters, confirm: process.stdin.isTTY ? confirm : null }, command);
  }
}

/** Prints one line that it overwrites on a terminal. Prints nothing without a terminal. */
function progress(done: number, total: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${total}${done >= total ? '\n' : ''}`);
}

async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C and Ctrl-D reject the question. Both count as no.
  const answer = await terminal.question(question).catch(() => '');
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}
