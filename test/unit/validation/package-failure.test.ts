import { describe, expect, test } from 'vitest';
import { describePackageFailure } from '../../../src/validation/package-failure.ts';

const error = (message: string, code?: string) => Object.assign(new Error(message), { code });

describe('failure of an optional package', () => {
  test.each([
    ["Cannot find package 'pg' imported from /app/dist/postgres.js", 'ERR_MODULE_NOT_FOUND'],
    ["Cannot find module 'pg'\nRequire stack:\n- /app/bundle.cjs", 'MODULE_NOT_FOUND'],
    ['Cannot find module "pg/lib/client.js"', undefined],
    ["intentbook tried to access pg (a peer dependency) but it isn't provided by your application", 'MODULE_NOT_FOUND'],
    ["intentbook tried to access pg, but it isn't declared in its dependencies", 'MODULE_NOT_FOUND'],
  ])('is a missing package for %j', (message, code) => {
    expect(describePackageFailure('the store', 'pg', error(message, code))).toBe(
      'the store requires the package pg: npm install pg',
    );
  });

  test.each([
    ['Could not locate the bindings file. Tried:\n → /app/build/x.node', 'Could not locate the bindings file. Tried:'],
    [
      "Cannot find package 'bindings' imported from /app/x.js",
      "Cannot find package 'bindings' imported from /app/x.js",
    ],
    ['pg tried to access pg-native (a peer dependency)', 'pg tried to access pg-native (a peer dependency)'],
    ["Cannot find package 'pg-pool' imported from /app/x.js", "Cannot find package 'pg-pool' imported from /app/x.js"],
    [
      'The module was compiled against a different Node.js version',
      'The module was compiled against a different Node.js',
    ],
  ])('is an installed package that does not load for %j', (message, reason) => {
    const text = describePackageFailure('the store', 'pg', error(message));
    expect(text).toContain(`is installed, but does not load: ${reason}`);
    expect(text).toContain('npm rebuild pg');
  });
});
