import { glob, readFile } from 'node:fs/promises';

/** A command of a page, without its comment. */
export type DocumentedCommand = { page: string; command: string };

/** Matches a command in the prose: a program of the project, or a program that operators run. */
const proseCommand =
  /^(?:[A-Z_]+=\S+ )*(?:npm|npx|node|docker|helm|kubectl|pip|promtool|ssh|support-cli|infra\/\S+\.sh) \S/;

const fence = /^ *```(\w*)[^\n]*\n([^]*?)^ *```$/gm;

/**
 * Reads the README, docs/ and the client's README. Returns the different commands of their shell blocks, of their
 * terminal sessions and of their prose.
 */
export async function documentedCommands(): Promise<DocumentedCommand[]> {
  const pages = [
    'README.md',
    'clients/typescript/README.md',
    ...(await Array.fromAsync(glob('docs/**/*.md'))),
  ];
  const documented = new Map<string, DocumentedCommand>();
  for (const page of pages.sort()) {
    const text = await readFile(page, 'utf8');
    for (const command of [...commandsOfBlocks(text), ...commandsOfProse(text)]) {
      if (!documented.has(command)) documented.set(command, { page, command });
    }
  }
  return [...documented.values()];
}

/** The commands of the shell blocks, and of the terminal sessions, whose commands follow a `$`. */
function commandsOfBlocks(text: string): string[] {
  const commands: string[] = [];
  for (const [, language, body = ''] of text.matchAll(fence)) {
    if (language === 'sh') commands.push(...commandsOfShell(body));
    if (language !== '') continue;
    for (const [, line = ''] of body.matchAll(/^\$ (.+)$/gm)) commands.push(withoutComment(line));
  }
  return commands;
}

function commandsOfProse(text: string): string[] {
  const prose = text.replace(fence, '');
  const codes = [...prose.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replace(/\s+/g, ' '));
  const commands = codes.filter((code) => proseCommand.test(code));
  // In the image the command is `support-cli`, in a clone `npx support-cli`.
  return commands.map((command) => command.replace(/^support-cli /, 'npx support-cli '));
}

/** The commands of a shell block: the whole block if it is a script, else each line with its continuation lines. */
function commandsOfShell(body: string): string[] {
  if (body.startsWith('set -euo pipefail')) return [body];
  const lines = body.replaceAll(/\\\n\s*/g, '').split('\n');
  return lines.map((line) => withoutComment(line.trim())).filter((line) => line !== '');
}

const withoutComment = (line: string) => line.replace(/(^|\s+)# .*$/, '');
