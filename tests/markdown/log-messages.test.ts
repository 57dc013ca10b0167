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

let logged: Logged[] = [];
let rows: string[] = [];
beforeAll(async () => {
  const paths = (await Array.fromAsync(glob('{services,shared}/**/*.ts'))).filter(
    (path) => !path.endsWith('.test.ts'),
  );
  const files = await Promise.all(
    paths.sort().map(async (path) => ({ path, text: await readFile(path, 'utf8') })),
  );
  logged = files.flatMap(({ path, text }) => loggedIn(path, text));
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

function loggedBy(path: string, { expression, arguments: callArguments }: ts.CallExpression): Logged[] {
  if (expression.getText() === 'logChanges' && callArguments[1])
    return [{ path, level: 'debug', message: textOf(callArguments[1]) }];
  if (!ts.isPropertyAccessExpression(expression)) return [];
  const level = expression.name.text;
  const lastArgument = callArguments.at(-1);
  if (!levels.includes(level) || !/logger$/i.test(expression.expression.getText()) || !lastArgument)
    return [];
  return [{ path, level, message: textOf(lastArgument) }];
}

/** The text of an expression, with `…` in place of each part that is not a literal. */
function textOf(node: ts.Expression): string {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return `${node.head.text}${node.templateSpans.map(({ literal }) => `…${literal.text}`).join('')}`;
  if (ts.isBinaryExpression(node)) return textOf(node.left) + textOf(node.right);
  return '…';
}

/** The messages that begin a row of a table, and the items of the list of debug lines. */
function rowsOf(page: string): string[] {
  const cells = [...page.matchAll(/^\| (`[^`]+`(?:, `[^`]+`)*)/gm)].map(([, cell]) => String(cell));
  const [, debugLines = ''] = page.split('\n## Debug lines\n');
  const items = [...debugLines.matchAll(/^- (`[^`]+`)/gm)].map(([, item]) => String(item));
  return [...cells, ...items].flatMap((codes) =>
    [...codes.matchAll(/`([^`]+)`/g)].map(([, code]) => String(code)),
  );
}

/** Whether a row names the message. In the row, `…` matches any text. */
const namesMessage = (row: string, message: string) => patternOf(row).test(message);

const patternOf = (row: string) =>
  new RegExp(`^${row.replace(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`).replaceAll('…', '.*')}$`, 's');

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
  const pages = await Promise.all(paths.sort().map((path) => readFile(path, 'utf8')));
  const quoted = pages.flatMap((page) =>
    [...page.replace(/^ *```[^]*?^ *```$/gm, '').matchAll(/`([^`]+)`/g)]
      .map(([, code = '']) => code.replace(/\s+/g, ' '))
      .filter((code) => /^[a-z]+(?:[;:,]? \(?[a-z]+){3,}\)?$/.test(code)),
  );
  const isLogged = (text: string) => allMessages().some(({ message }) => message.startsWith(text));
  expect(quoted.filter((text) => !isLogged(text))).toEqual([]);
  expect(quoted.length).toBeGreaterThan(10);
});

test('every message of the levels warn, error and fatal has a row', () => {
  const missing = allMessages().filter(
    ({ level, message }) => rowLevels.includes(level) && !rows.some((row) => namesMessage(row, message)),
  );
  expect(missing).toEqual([]);
});

test('the code computes whole messages only at the places that the test lists', () => {
  const places = logged.filter(({ level, message }) => rowLevels.includes(level) && message === '…');
  const place = ({ path, level }: Logged) => ({ path, level });
  expect(places.map(place)).toEqual(computed.map(place));
});
