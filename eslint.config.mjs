import importSort from 'eslint-plugin-simple-import-sort';
import tseslint from 'typescript-eslint';

const encodedPath = {
  selector:
    'MemberExpression[property.name="pathname"][object.callee.name="URL"][object.arguments.1.object.type="MetaProperty"]',
  message: 'This path is percent-encoded: a folder with a space would not be found. Use import.meta.dirname.',
};

const conditionalSpread =
  'SpreadElement[argument.type=/^(Conditional|Logical)Expression$/][argument.operator!="??"]';

/** One idea a line. */
const oneIdeaALine = [
  {
    selector: 'VariableDeclarator[id.type="ArrayPattern"] > ArrayExpression.init:not(:has(> SpreadElement))',
    message: 'Declare each name in a statement of its own.',
  },
  {
    selector: 'VariableDeclaration[kind="let"] > VariableDeclarator[id.type="ArrayPattern"]',
    message: 'Declare each name in a statement of its own.',
  },
  {
    selector:
      'ArrowFunctionExpression > UnaryExpression.body[operator="void"][argument.type!="CallExpression"]',
    message: 'Write a block with a statement.',
  },
  {
    selector: 'MemberExpression[computed=true] > ConditionalExpression.property',
    message: 'Decide with an if which field is meant.',
  },
];

/** Types with names, where others read the code: production. */
const namedTypes = [
  {
    selector: 'TSTypeReference[typeName.name="Parameters"] TSTypeQuery',
    message: 'Give the type of the parameter a name, with a sentence for each field.',
  },
  {
    // The timers of browsers and of Node have different types.
    selector: 'TSTypeReference[typeName.name="ReturnType"] TSTypeQuery[exprName.name!="setTimeout"]',
    message: 'Declare the type, with a sentence for each field.',
  },
  {
    selector: `ObjectExpression > ${Array(3).fill(conditionalSpread).join(' ~ ')}`,
    message: 'Add the fields that may be absent by statements.',
  },
];

/** The driver adds no concern, no read preference and no limit to a raw command. */
const rawCommand = {
  selector: 'CallExpression[callee.property.name=/^(command|runCursorCommand)$/]',
  message:
    'Use runCommand() of shared/store/run-command.ts, which adds the concern, the read preference and a limit.',
};

/** In the CLI, commander has a method of the same name, which takes a text. */
const rawCommandBesideCommander = {
  ...rawCommand,
  selector: `${rawCommand.selector}[arguments.0.type="ObjectExpression"]`,
};

/** The CLI prints values of the bus: a line end in one would look like the end of a row. */
const lineByHand = {
  selector:
    'TemplateElement[tail=true][value.raw=/\\\\n$/], TemplateLiteral CallExpression[callee.property.name="join"] > Literal[value="\\n"]',
  message: 'Use lines() of output.ts, which keeps every text on its line.',
};

/** Expected values of several kinds in one array: a number beside a text, null, a boolean, a list or an object. */
const unlikeInOneArray = {
  selector:
    'CallExpression[callee.object.callee.name="expect"][callee.object.arguments.0.type="ArrayExpression"] > ' +
    'ArrayExpression:has(> Literal[value=type(number)])' +
    ':has(> :matches(Literal[value=type(string)], Literal[value=type(boolean)], Literal[raw="null"], TemplateLiteral, ArrayExpression, ObjectExpression))',
  message: 'Compare objects: a failure then names the fact that differs.',
};

/** A loop or a condition inside another one: without braces, a reader takes both for one. */
const nestedWithoutBraces = {
  selector:
    ':matches(ForOfStatement, ForInStatement, ForStatement, WhileStatement) > ' +
    ':matches(IfStatement, ForOfStatement, ForInStatement, ForStatement, WhileStatement, TryStatement).body, ' +
    'IfStatement > :matches(IfStatement, ForOfStatement, ForInStatement, ForStatement, WhileStatement).consequent',
  message: 'Put braces around the inner statement.',
};

/** Jest has two names for one function. */
const secondNameOfTest = {
  selector: 'CallExpression:matches([callee.name="it"], [callee.object.name="it"])',
  message: 'Write test().',
};

/** A test that replaces a function still passes once the code no longer calls it, and later tests see it replaced. */
const replacedFunction = {
  selector:
    'CallExpression[callee.object.name="jest"]' +
    '[callee.property.name=/^(spyOn|mock|doMock|setMock|unstable_mockModule|replaceProperty)$/]',
  message:
    'Give the code a cause: a record, stored data, an answer of tests/support/answering-proxy.ts, or a fake as an argument.',
};

const everywhere = [encodedPath, nestedWithoutBraces, ...oneIdeaALine];

export default tseslint.config(
  { ignores: ['node_modules', 'artifacts', 'clients/*/package', 'clients/*/src/generated'] },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    plugins: { 'import-sort': importSort },
    rules: {
      // Node's, packages, then our own from far to near: a reader finds an import where others have it.
      'import-sort/imports': [
        'error',
        { groups: [['^\\u0000', '^node:', '^@?\\w', '^', '^\\.\\.', '^\\.']] },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/require-await': 'off',
      // A field taken out of an object by destructuring is named, not used.
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true, argsIgnorePattern: '^_' }],
      'max-lines': ['error', { max: 250, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      // Prettier wraps code, not comments.
      'max-len': ['error', { code: 10_000, comments: 120, ignoreUrls: true }],
      'prefer-const': 'error',
      eqeqeq: 'error',
      'no-nested-ternary': 'error',
      'max-depth': ['error', 3],
      'no-multi-assign': 'error',
      'no-return-assign': ['error', 'always'],
      '@typescript-eslint/no-shadow': 'error',
      'no-cond-assign': ['error', 'always'],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/prefer-includes': 'error',
      '@typescript-eslint/prefer-string-starts-ends-with': 'error',
      'no-restricted-syntax': ['error', ...everywhere, secondNameOfTest, unlikeInOneArray, replacedFunction],
    },
  },
  {
    files: ['{services,shared,infra,clients}/**/*.ts'],
    ignores: ['**/*.test.ts'],
    rules: {
      // A function with more branches than these gives its cases names: a guard, a function, a type.
      complexity: ['error', 12],
      '@typescript-eslint/default-param-last': 'error',
      'no-restricted-syntax': ['error', ...everywhere, ...namedTypes],
    },
  },
  {
    files: ['{services,shared}/**/*.ts'],
    ignores: ['**/*.test.ts', 'services/cli/**', 'shared/store/run-command.ts'],
    rules: { 'no-restricted-syntax': ['error', ...everywhere, ...namedTypes, rawCommand] },
  },
  {
    files: ['services/operations/**/*.ts'],
    ignores: ['**/*.test.ts'],
    rules: { 'no-restricted-syntax': ['error', ...everywhere, ...namedTypes, rawCommand, lineByHand] },
  },
  {
    files: ['services/cli/**/*.ts'],
    ignores: ['**/*.test.ts', 'services/cli/output.ts', 'services/cli/main.ts'],
    rules: {
      'no-restricted-syntax': ['error', ...everywhere, ...namedTypes, rawCommandBesideCommander, lineByHand],
    },
  },
  { files: ['**/*.mjs'], ...tseslint.configs.disableTypeChecked },
  { files: ['**/*.test.ts', 'tests/**'], rules: { 'max-lines-per-function': 'off' } },
);
