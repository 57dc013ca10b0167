import { runCommandLine } from '../../services/cli/run.ts';
import { commandsIn, shellWord } from '../../services/operations/deployment.ts';
import { counted } from '../../shared/runtime/counted.ts';
import type { Service } from '../service.ts';

/** The API's address, the file of its certificate, and the API key. */
export type Access = { baseUrl: string; certificate: string; token: string };
export type Output = {
  /** Prints a line unless `--quiet` suppresses it. */
  report: (line: string) => void;
  /** Prints a line even with `--quiet`. */
  print: (line: string) => void;
};

/** Words as a line for a shell. */
const shellLine = (words: string[]): string => words.map(shellWord).join(' ');

/** Sends a request to the API. */
export async function ask({ baseUrl, token }: Access, path: string) {
  const headers = { authorization: `Bearer ${token}` };
  const requesting = fetch(baseUrl + path, { headers, signal: AbortSignal.timeout(5_000) });
  const response = await requesting.catch(({ message, cause }: Error) => {
    // For every cause the message is `fetch failed`.
    throw new Error(`the API was not reached: ${cause instanceof Error ? cause.message : message}`);
  });
  const body = await response.text();
  if (!response.ok) throw new Error(`the API answered: ${body}`);
  return { body, dataAsOf: response.headers.get('data-as-of') };
}

/** A terminal shows this many characters of a line. */
const lineLengthMax = 108;

const shorten = (line: string): string =>
  line.length > lineLengthMax ? `${line.slice(0, lineLengthMax - 1)}…` : line;

/** Prints a request as a curl command, and the first lines of the response. Returns the response. */
async function showRequest(access: Access, path: string, { report, print }: Output, linesMax = 20) {
  const { baseUrl, certificate, token } = access;
  const authorization = `Authorization: Bearer ${token}`;
  print(shellLine(['curl', '--cacert', certificate, '-H', authorization, baseUrl + path]));
  const { body } = await ask(access, path);
  const lines = JSON.stringify(JSON.parse(body), null, 2).split('\n');
  const shown = lines.slice(0, linesMax).map(shorten);
  const omitted = lines.length - shown.length;
  if (omitted > 0) shown.push(`  … ${counted(omitted, 'more line')}`);
  report(shown.join('\n'));
  return body;
}

/** Demonstrates the API by three requests. */
export async function showTour(access: Access, output: Output): Promise<void> {
  output.report('');
  const tickets = await showRequest(access, '/v1/tickets?status=open&status=snoozed&limit=2', output);
  const conversation = /"(conv_[^"]+)"/.exec(tickets)?.[1];
  if (!conversation) throw new Error('no ticket in the list has a conversation');
  for (const path of [`/v1/conversations/${conversation}`, '/v1/channels?limit=3']) {
    output.report('');
    await showRequest(access, path, output);
  }
}

/** The services that a rebuild changes, and the settings of its commands. */
export type Rebuild = {
  /** The settings of the services, which the commands also need. */
  environment: Record<string, string>;
  startProjector: (generation: number) => Service;
  /** Lets the first projector exit without an error, because the next step drops its generation. */
  onMayExit: () => void;
};

/** Runs a command of an operator, and prints it with its output. Rejects if it fails. */
export async function showCommand(
  output: Output,
  environment: Record<string, string>,
  words: string[],
): Promise<void> {
  const line = shellLine(words);
  output.print(`\n${commandsIn.source.cli} ${line}`);
  let printed = '';
  const report = (text: string) => {
    printed = text.trimEnd().replace(/^/gm, '  ');
    output.report(printed);
  };
  const print = async (text: string | Buffer) => report(text.toString());
  const terminal = { print, report, progress: () => undefined, confirm: null };
  if ((await runCommandLine(words, environment, terminal)) !== 0)
    throw new Error(`${line} failed:\n${printed}`);
}

/**
 * Shows a rebuild by the commands of an operator, which print their checks and progress. Rejects if one of them fails.
 */
export async function showRebuild(output: Output, access: Access, rebuild: Rebuild): Promise<void> {
  const { report, print } = output;
  const { environment, startProjector, onMayExit } = rebuild;
  const run = (...words: string[]) => showCommand(output, environment, ['rebuild', ...words]);
  const shared = ['KAFKA_BROKERS', 'MONGODB_URL', 'DATABASE_NAME', 'TOPIC_PREFIX', 'CONSUMER_GROUP'];
  report(
    '\nA rebuild follows, by the commands of an operator. In another terminal they need these settings:',
  );
  print(shellLine(['export', ...shared.map((name) => `${name}=${environment[name] ?? ''}`)]));
  await run('start', '--why', 'the demo');
  print(`\n${commandsIn.source.projector(2)}`);
  await startProjector(2).logged('projecting');
  await run('await', '2');
  await run('compare', '2');
  await run('promote', '2');
  await showRequest(access, '/v1/tickets?limit=1', output, 12);
  await run('rollback', '1');
  await run('promote', '2');
  onMayExit();
  await run('drop', '1', '--force');
}
