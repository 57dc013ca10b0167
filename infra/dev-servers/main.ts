import { errorMessage } from '../../shared/runtime/error-message.ts';
import { parseArguments, usage, type Verb } from './arguments.ts';
import { bringDown, bringUp, recorded, stateOf } from './detached.ts';

const print = (line: string) => void process.stdout.write(`${line}\n`);
const printError = (line: string) => void process.stderr.write(`${line}\n`);

/** Runs a verb. Returns the exit code. */
async function perform(verb: Verb): Promise<number> {
  switch (verb) {
    case 'up': {
      const { kafkaBrokers, mongodbUrl, dataDir, how } = await bringUp(print);
      print(`Kafka    ${kafkaBrokers}\nMongoDB  ${mongodbUrl}`);
      print(
        how === 'native'
          ? `Data and logs are in ${dataDir}`
          : 'Logs: docker logs <container>; npm run stack -- status lists the containers',
      );
      print('Set the addresses in a shell: eval "$(npm run --silent stack -- env)"');
      return 0;
    }
    case 'down':
      await bringDown(print);
      return 0;
    case 'status': {
      const states = await stateOf(await recorded());
      for (const { line } of states) print(line);
      return states.every(({ running }) => running) ? 0 : 1;
    }
    case 'env': {
      const detached = await recorded();
      const states = await stateOf(detached);
      if (detached === undefined || states.some(({ running }) => !running)) {
        printError('The stack is not up. Start it: npm run stack -- up');
        return 1;
      }
      print(`export KAFKA_BROKERS=${detached.kafkaBrokers}\nexport MONGODB_URL='${detached.mongodbUrl}'`);
      return 0;
    }
  }
}

const parsed = parseArguments(process.argv.slice(2));
if ('help' in parsed) {
  print(usage);
} else if ('usageError' in parsed) {
  printError(`${parsed.usageError}\n\n${usage}`);
  process.exitCode = 2;
} else {
  try {
    process.exitCode = await perform(parsed.verb);
  } catch (error) {
    printError(errorMessage(error));
    process.exitCode = 1;
  }
}
