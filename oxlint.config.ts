import { fileURLToPath } from 'node:url'
import { defineConfig } from 'oxlint'

const LINES = { max: 300, skipBlankLines: false, skipComments: false }
/** Programs that use client packages, which are not installed here. */
const CLIENT_PROGRAMS = 'audit/conformance/**/*.mjs'
const LINES_PER_FUNCTION = { max: 60, skipBlankLines: false, skipComments: false }

/**
 * The import rule, the size limits and the rules of CONTRIBUTING.md. `test/conventions/lint-canary.test.ts` tests that they are
 * enforced.
 */
export default defineConfig({
  ignorePatterns: ['built/**', 'functions/client/api-types.ts', 'bench/drivers/**', 'bench/peers/**'],
  plugins: ['eslint', 'typescript', 'unicorn', 'oxc', 'import', 'node', 'promise', 'vitest'],
  jsPlugins: [fileURLToPath(new URL('./lint/house.ts', import.meta.url))],
  options: { typeAware: true, denyWarnings: true, reportUnusedDisableDirectives: 'error' },
  categories: { correctness: 'error' },
  rules: {
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'import/no-self-import': 'error',
    'import/no-commonjs': 'error',
    'unicorn/filename-case': ['error', { case: 'kebabCase' }],
    'unicorn/prefer-node-protocol': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-non-null-assertion': 'error',
    'typescript/ban-ts-comment': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/only-throw-error': 'error',
    'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    'typescript/consistent-type-imports': 'error',
    'typescript/no-unsafe-argument': 'error',
    'typescript/no-unsafe-assignment': 'error',
    'typescript/no-unsafe-call': 'error',
    'typescript/no-unsafe-member-access': 'error',
    'typescript/no-unsafe-return': 'error',
    // Our factories return plain objects whose functions never use `this`.
    'typescript/unbound-method': 'off',
    'typescript/no-misused-spread': 'off',
    'unicorn/no-invalid-fetch-options': 'off',
    'unicorn/no-useless-spread': 'off',
    // The tests of a contract suite depend on the features of its adapter. Engine suites are skipped without an engine.
    'vitest/no-conditional-expect': 'off',
    'vitest/no-conditional-tests': 'off',
    'vitest/no-disabled-tests': 'off',
    'vitest/no-standalone-expect': 'off',
    'vitest/require-to-throw-message': 'off',
    'vitest/valid-expect': ['error', { maxArgs: 2 }],
    'vitest/expect-expect': ['error', { assertFunctionNames: ['expect*', 'fc.assert'] }],
    'eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    'eslint/eqeqeq': 'error',
    'eslint/no-empty': 'error',
    'eslint/no-var': 'error',
    'eslint/prefer-const': 'error',
    'eslint/max-lines': ['error', LINES],
    'eslint/no-warning-comments': 'error',
  },
  overrides: [
    {
      files: ['functions/**'],
      rules: {
        'house/layers': 'error',
        'house/no-lazy-cycle': 'error',
        'house/no-re-export': 'error',
        'house/telling-name': 'error',
        'eslint/max-lines-per-function': ['error', LINES_PER_FUNCTION],
        'eslint/no-console': 'error',
        'import/no-default-export': 'error',
        'node/no-process-env': 'error',
        'eslint/no-restricted-imports': [
          'error',
          {
            paths: [
              {
                name: 'node:process',
                importNames: ['env'],
                message: 'only config.ts and function-settings.ts in runtime/settings read it',
              },
            ],
          },
        ],
      },
    },
    {
      files: ['bin/**', 'lib/**'],
      rules: {
        'house/layers': 'error',
        'house/no-lazy-cycle': 'error',
        'house/no-re-export': 'error',
        'house/telling-name': 'error',
        'eslint/max-lines-per-function': ['error', LINES_PER_FUNCTION],
        'eslint/no-console': 'error',
        'import/no-default-export': 'error',
      },
    },
    {
      files: ['lib/**'],
      rules: { 'node/no-process-env': 'error' },
    },
    {
      files: ['page/**'],
      rules: { 'eslint/max-lines-per-function': ['error', LINES_PER_FUNCTION] },
    },
    {
      // Vitest's matchers within an expectation have the type `any`.
      files: ['test/**', 'audit/**'],
      rules: { 'typescript/no-unsafe-assignment': 'off' },
    },
    {
      // Files outside of tsconfig.json have no types.
      files: ['scripts/**', 'functions/**/*.js', 'examples/**', CLIENT_PROGRAMS],
      rules: {
        'typescript/no-unsafe-assignment': 'off',
        'typescript/no-unsafe-call': 'off',
        'typescript/no-unsafe-member-access': 'off',
        'typescript/no-unsafe-argument': 'off',
        'typescript/no-unsafe-return': 'off',
      },
    },
    {
      // In these programs, values of the clients' packages have the type `any`.
      files: [CLIENT_PROGRAMS],
      rules: {
        'typescript/await-thenable': 'off',
        'typescript/require-array-sort-compare': 'off',
        'typescript/restrict-template-expressions': 'off',
      },
    },
    {
      files: ['functions/runtime/settings/config.ts', 'functions/runtime/settings/function-settings.ts'],
      rules: { 'node/no-process-env': 'off' },
    },
  ],
})
