import { errorMessage } from '../../shared/runtime/error-message.ts';
import { bringDown, bringUp, dataDir, hold, readStack } from './lasting.ts';
import { createProgram } from './program.ts';

const print = (line: string) => void process.stdout.write(`${line}\n`);
const fail = (line: string) => {
  process.stderr.write(`${line}\n`);
  process.exitCode = 1;
};

const setAddresses = 'eval "$(npm run --silent stack -- env)"';

const program = createProgram('npm run stack --').addHelpText(
  'after',
  `\nSet the addresses in a shell:\n  ${setAddresses}`,
);
program
  .command('up')
  .description(
    'start Kafka and MongoDB (or a server that speaks its protocol), which run until `down`: in Docker if an engine ' +
      'answers, otherwise as processes on this machine',
  )
  .action(async () => {
    const { kafkaBrokers, mongodbUrl, store, how } = await bringUp(print);
    print(`Kafka  ${kafkaBrokers}\n${store}  ${mongodbUrl}`);
    print(how.store === 'native' ? `Data and logs are in ${dataDir}` : 'Logs: docker logs <container>');
    print(`Set the addresses in a shell: ${setAddresses}`);
  });
program
  .command('status')
  .description('list each server with its address; exit code 1 unless all are running')
  .action(async () => {
    const { isUp, lines } = await readStack();
    lines.forEach(print);
    if (!isUp) process.exitCode = 1;
  });
program
  .command('env')
  .description('print the addresses as `export` lines for `eval`')
  .action(async () => {
    const { isUp, stack } = await readStack();
    if (!stack || !isUp) {
      fail('The stack is not up. Start it: npm run stack -- up');
      return;
    }
    print(`export KAFKA_BROKERS=${stack.kafkaBrokers}\nexport MONGODB_URL='${stack.mongodbUrl}'`);
  });
program
  .command('down')
  .description('stop the servers that `up` started and remove their data')
  .action(() => bringDown(print));
program.command('hold', { hidden: true }).action(hold);

await program.parseAsync().catch((error: unknown) => fail(errorMessage(error)));
