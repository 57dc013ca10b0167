import tseslint from 'typescript-eslint';

/** Part of each boundary, since of several that match a file only the last holds. */
const noClients = {
  regex: '(^|/)clients/',
  message: 'Clients are for those who use the API from outside; nothing in here rests on them.',
};

const forbidden = (files, patterns) => ({
  files,
  ignores: ['**/*.test.ts'],
  rules: { 'no-restricted-imports': ['error', { patterns }] },
});

/** Forbids imports with a message that says which boundary they cross. */
const boundary = (files, regex, message) => forbidden(files, [{ regex, message }, noClients]);

export default tseslint.config(
  { ignores: ['node_modules', 'artifacts', 'clients/*/package', 'clients/*/src/generated'] },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
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
      'prefer-const': 'error',
      eqeqeq: 'error',
    },
  },
  { files: ['**/*.mjs'], ...tseslint.configs.disableTypeChecked },
  { files: ['**/*.test.ts', 'tests/**'], rules: { 'max-lines-per-function': 'off' } },
  boundary(
    ['clients/*/src/**'],
    '(/services/|/shared/|/infra/|^[^.])',
    'A client knows the API by its document alone, and runs wherever there is fetch: no packages, no node:.',
  ),
  forbidden(['services/**', 'infra/**'], [noClients]),
  boundary(['shared/**'], '/services/', 'shared/ serves both services; it knows neither of them.'),
  boundary(
    ['services/api/**'],
    '(/projector/|/cli/|^kafkajs$)',
    'The API serves documents; it knows nothing of Kafka, events or the projector.',
  ),
  boundary(
    ['services/projector/**'],
    '(/api/|/cli/|^koa$|^@koa/)',
    'The projector writes documents; it knows nothing of HTTP resources.',
  ),
  boundary(
    ['services/operations/**'],
    '(/api/|/cli/|/console/|^koa$|^@koa/|^commander$)',
    'Operations are asked for by a terminal and by a page; they know neither.',
  ),
  boundary(
    ['services/projector/projections/**'],
    '(/api/|/cli/|^koa$|^@koa/|^mongodb$|^kafkajs$|^node:)',
    'Projections are pure: no MongoDB, no Kafka, no runtime.',
  ),
  boundary(
    ['services/api/resources/**/presenter.ts'],
    '(/projector/|/cli/|^kafkajs$|^koa$|^@koa/|^mongodb$)',
    'Presenters are pure: a document in, the contract out.',
  ),
);
