import { glob, readFile } from 'node:fs/promises';
import ts from 'typescript';

/** A message that the code logs. `…` stands for a part that the code computes. */
type Logged = { path: string; level: string; message: string };

const levels = ['debug', 'info', 'warn', 'error', 'fatal'];
/** An operator reacts to these levels, so each of their messages needs a row. */
const rowLevels = ['warn', 'error', 'fatal'];

/** Messages that a function computes, so that the call of the logger does not show them. Each is copied by hand. */
const computed: Logged[] = [
  { path: 'services/projector/main.ts', level: 'warn', message: 'waiting: …' },
  { path: 'shared/runtime/config.ts', level: 'warn', message: '… is not a setting; did you mean …?' },
];

const logged: Logged[] = [];
let rows: string[] = [];
beforeAll(async () => {
  const paths = await Array.fromAsync(glob('{services,shared}/**/*.ts'));
  for (const path of paths.sort()) {
    if (path.endsWith('.test.ts')) continue;
    const text = await readFile(path, 'utf8');
    logged.push(...loggedIn(path, text));
  }
  rows = rowsOf(await readFile('docs/log-messages.md', 'utf8'));
});

/** Finds the messages of calls such as `deps.logger.warn(fields, 'message')` and `logChanges(logger, 'message')`. */
function loggedIn(path: string, text: string): Logged[] {
  const calls: Logged[] = [];
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const visit = (node: ts.Node) => {
    if (ts.isCallExpression(node)) calls.push(...loggedBy(path, node));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return calls;
}

function loggedBy(path: string, call: ts.CallExpression): Logged[] {
  // Both kinds of calls have the message as their last argument.
  const lastArgument = call.arguments.at(-1);
  if (!lastArgument) return [];
  const message = textOf(lastArgument);
  if (call.expression.getText() === 'logChanges') return [{ path, level: 'debug', message }];
  if (!ts.isPropertyAccessExpression(call.expression)) return [];
  const { expression: receiver, name } = call.expression;
  const isLogger = /logger$/i.test(receiver.getText());
  return isLogger && levels.includes(name.text) ? [{ path, level: name.text, message }] : [];
}

/** The text of an expression, with `…` in place of each part that is not a literal. */
function textOf(node: ts.Expression): string {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node)) {
    const afterParts = node.templateSpans.map(({ literal }) => literal.text);
    return [node.head.text, ...afterParts].join('…');
  }
  if (ts.isBinaryExpression(node)) return textOf(node.left) + textOf(node.right);
  return '…';
}

/** The messages that begin a row of a table, and the items of the list of debug lines. */
function rowsOf(page: string): string[] {
  const cells = firstGroups(/^\| (`[^`]+`(?:, `[^`]+`)*)/gm, page);
  const [, debugLines = ''] = page.split('\n## Debug lines\n');
  const items = firstGroups(/^- (`[^`]+`)/gm, debugLines);
  return [...cells, ...items].flatMap(codesIn);
}

/** The text of the first group of the pattern, for each match. */
const firstGroups = (pattern: RegExp, text: string) =>
  [...text.matchAll(pattern)].map(([, found]) => String(found));

/** The texts in backticks. */
const codesIn = (text: string) => firstGroups(/`([^`]+)`/g, text);

/** Whether a row names the message. In the row, `…` matches any text. */
function namesMessage(row: string, message: string): boolean {
  const escaped = row.replace(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
  const pattern = escaped.replaceAll('…', '.*');
  return new RegExp(`^${pattern}$`, 's').test(message);
}

const allMessages = () => [...logged.filter(({ message }) => message !== '…'), ...computed];

test('every row names a message that the code logs', () => {
  const messages = allMessages().map(({ message }) => message);
  expect(rows.filter((row) => !messages.some((message) => namesMessage(row, message)))).toEqual([]);
  expect(rows.length).toBeGreaterThan(50);
});

// The test takes four or more words in backticks for a message, because commands and settings have fewer words or
// additional characters.
test('the code logs every message that a page quotes', async () => {
  const paths = await Array.fromAsync(glob('docs/{*,runbooks/*}.md'));
  const quoted: string[] = [];
  for (const path of paths.sort()) {
    const page = await readFile(path, 'utf8');
    const prose = page.replace(/^ *```[^]*?^ *```$/gm, '');
    const codes = codesIn(prose).map((code) => code.replace(/\s+/g, ' '));
    quoted.push(...codes.filter((code) => /^[a-z]+(?:[;:,]? \(?[a-z]+){3,}\)?$/.test(code)));
  }
  const isLogged = (text: string) => allMessages().some(({ message }) => message.startsWith(text));
  expect(quoted.filter((text) => !isLogged(text))).toEqual([]);
  expect(quoted.length).toBeGreaterThan(10);
});

test('every message of the levels warn, error and fatal has a row', () => {
  const needRow = allMessages().filter(({ level }) => rowLevels.includes(level));
  const missing = needRow.filter(({ message }) => !rows.some((row) => namesMessage(row, message)));
  expect(missing).toEqual([]);
});

test('the code computes whole messages only at the places that the test lists', () => {
  const places = logged.filter(({ level, message }) => rowLevels.includes(level) && message === '…');
  const place = ({ path, level }: Logged) => ({ path, level });
  expect(places.map(place)).toEqual(computed.map(place));
});
