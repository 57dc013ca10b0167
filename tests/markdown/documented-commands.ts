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
  const commandsOfPages = await Promise.all(
    pages.sort().map(async (page) => {
      const text = await readFile(page, 'utf8');
      return commandsOf(text).map((command) => ({ page, command }));
    }),
  );
  const seen = new Set<string>();
  return commandsOfPages.flat().filter(({ command }) => !seen.has(command) && seen.add(command));
}

function commandsOf(text: string): string[] {
  const blocks = [...text.matchAll(fence)].flatMap(([, language = '', body = '']) => {
    if (language === 'sh') return commandsOfShell(body);
    return language === ''
      ? [...body.matchAll(/^\$ (.+)$/gm)].map(([, line]) => withoutComment(String(line)))
      : [];
  });
  const prose = [...text.replace(fence, '').matchAll(/`([^`]+)`/g)]
    .map(([, code]) => String(code).replace(/\s+/g, ' '))
    .filter((code) => proseCommand.test(code))
    // In the image the command is `support-cli`, in a clone `npx support-cli`.
    .map((code) => code.replace(/^support-cli /, 'npx support-cli '));
  return [...blocks, ...prose];
}

/** The commands of a shell block: the whole block if it is a script, else each line with its continuation lines. */
function commandsOfShell(body: string): string[] {
  if (body.startsWith('set -euo pipefail')) return [body];
  const lines = body.replaceAll(/\\\n\s*/g, '').split('\n');
  return lines.map((line) => withoutComment(line.trim())).filter((line) => line !== '');
}

const withoutComment = (line: string) => line.replace(/(^|\s+)# .*$/, '');
