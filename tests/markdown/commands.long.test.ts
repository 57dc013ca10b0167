import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '../../infra/dev-servers/native/ports.ts';
import { type Service, startCommand } from '../../infra/service.ts';
import { freshClone, freshUserEnvironment } from '../support/fresh-clone.ts';
import { useFolder } from '../support/use-opened.ts';
import { type Step, steps } from './plan.ts';

/** The services that still run during the next steps. */
const running: Service[] = [];

// This hook comes before the hook of the folder, so Jest stops the services before it removes the clone.
afterAll(async () => {
  await Promise.all(running.map((service) => service.stop()));
  await shell('npm run stack -- down');
});

const folder = useFolder();
const clone = () => join(folder.path, 'clone');

/** The environment of the shell in which all commands run; steps add to it. */
let environment: Record<string, string | undefined> = {};

beforeAll(async () => {
  freshClone(clone());
  const port = await freePort();
  const api = { API_HOST: '127.0.0.1', API_PORT: `${port}`, API_TRUSTED_PROXIES: '127.0.0.1' };
  environment = { ...freshUserEnvironment(), ...api, CONSOLE_PORT: '0' };
});

/** Runs a line of bash to its end. */
async function shell(line: string, cwd = clone()): Promise<{ code: number; output: string }> {
  const child = spawn('bash', ['-c', `exec 2>&1; ${line}`], {
    cwd,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close') as Promise<[number]>;
  const output = await text(child.stdout);
  const [code] = await closed;
  return { code, output };
}

/** Runs a service until it serves. Then leaves the service to run if it is kept, and otherwise stops it. */
async function serve(line: string, message: string, isKept = false): Promise<void> {
  const service = startCommand(['bash', '-c', `cd '${clone()}' && exec env ${line}`], environment, line);
  await service.logged(message);
  if (isKept) running.push(service);
  else expect({ line, code: await service.stop() }).toEqual({ line, code: 0 });
}

/** The line of a step: the shell that prepares it, and the command with its placeholders replaced. */
function lineOf({ command, as = {}, given }: Step): string {
  let line = command;
  for (const [placeholder, value] of Object.entries(as)) line = line.replaceAll(placeholder, value);
  return given ? `${given}\n${line}` : line;
}

async function perform(step: Step): Promise<void> {
  const line = lineOf(step);
  if (step.serves) return serve(line, step.serves, step.keep);
  const isEval = line.startsWith('eval ');
  const { code, output } = await shell(
    isEval ? `${line}${echoAddresses}` : line,
    join(clone(), step.in ?? ''),
  );
  const expectedCode = step.code ?? 0;
  if (code !== expectedCode)
    throw new Error(`${line}: exit code ${code} instead of ${expectedCode}: ${output.slice(-3_000)}`);
  for (const [name, pattern] of Object.entries(step.take ?? {}))
    environment[name] = pattern.exec(output)?.[0];
  if (!isEval) return;
  for (const [, name = '', value] of output.matchAll(/^(\w+)=(.+)$/gm)) environment[name] = value;
}

/** Prints the variables that `eval` has set, because the shell of the next step does not have them. */
const echoAddresses = '; echo "KAFKA_BROKERS=$KAFKA_BROKERS"; echo "MONGODB_URL=$MONGODB_URL"';

test('the documented commands succeed one after another in a fresh clone', async () => {
  for (const step of steps) await perform(step);
});
