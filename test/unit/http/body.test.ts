import { describe, expect, test } from 'vitest';
import { readJson } from '../../../src/http/body.ts';

const read = (headers: Readonly<Record<string, string>>) =>
  readJson(
    {
      method: 'POST',
      path: '/',
      query: '',
      header: (name) => ({ 'content-type': 'application/json', ...headers })[name],
      body: { type: 'bytes', bytes: '\ufeff{"a":1}' },
    },
    { limit: 100 },
  );

describe('content encoding of a body', () => {
  test.each(['', 'identity', 'Identity', 'identity, identity', ' , identity'])(
    '"%s" is not compressed',
    async (encoding) => {
      expect(await read({ 'content-encoding': encoding })).toEqual({ a: 1 });
    },
  );

  test.each(['gzip', 'identity, gzip', 'utf-8'])('"%s" is rejected', async (encoding) => {
    await expect(read({ 'content-encoding': encoding })).rejects.toMatchObject({ code: 'UnsupportedMediaType' });
  });
});
