import tseslint from 'typescript-eslint';

const encodedPath = {
  selector:
    'MemberExpression[property.name="pathname"][object.callee.name="URL"][object.arguments.1.object.type="MetaProperty"]',
  message: 'This path is percent-encoded: a folder with a space would not be found. Use import.meta.dirname.',
};

/** One idea a line, and types with names, where others read the code: production. */
const density = [
  {
    selector: 'VariableDeclarator[id.type="ArrayPattern"][init.type="ArrayExpression"]',
    message: 'Declare each name in a statement of its own.',
  },
  {
    selector: 'TSTypeReference[typeName.name="Parameters"] TSTypeQuery',
    message: 'Give the type of the parameter a name, with a sentence for each field.',
  },
  {
    selector:
      'ExportNamedDeclaration > TSTypeAliasDeclaration TSTypeReference[typeName.name="ReturnType"] TSTypeQuery',
    message: 'Declare the type, with a sentence for each field.',
  },
];

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
      'no-restricted-syntax': ['error', encodedPath],
    },
  },
  {
    files: ['{services,shared,infra,clients}/**/*.ts'],
    ignores: ['**/*.test.ts'],
    rules: { 'no-nested-ternary': 'error', 'no-restricted-syntax': ['error', encodedPath, ...density] },
  },
  { files: ['**/*.mjs'], ...tseslint.configs.disableTypeChecked },
  { files: ['**/*.test.ts', 'tests/**'], rules: { 'max-lines-per-function': 'off' } },
);
