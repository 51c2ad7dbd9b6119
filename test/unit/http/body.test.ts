import { describe, expect, test } from 'vitest';
import { readJson } from '../../../src/http/message.ts';

const read = (headers: Readonly<Record<string, string>>, bytes: string | Uint8Array = '\ufeff{"a":1}') =>
  readJson(
    {
      method: 'POST',
      path: '/',
      query: '',
      header: (name) => ({ 'content-type': 'application/json', ...headers })[name],
      body: { type: 'bytes', bytes },
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

describe('characters of a body', () => {
  test.each([
    ['a byte that is not UTF-8', '{"a":"\xff"}', 'the body is not UTF-8'],
    ['an overlong slash', '{"a":"\xc0\xaf"}', 'the body is not UTF-8'],
    ['an encoded surrogate', '{"a":"\xed\xa0\x80"}', 'the body is not UTF-8'],
    ['Latin-1', '{"a":"\xe9"}', 'the body is not UTF-8'],
    ['UTF-16', '{\0}\0', 'the body is not JSON'],
    ['NUL behind the value', '{}\0', 'the body is not JSON'],
    ['a no-break space', '\xc2\xa0{}', 'the body is not JSON'],
    ['two values', '{}{}', 'the body is not JSON'],
  ])('are rejected, not replaced: %s', async (_, text, description) => {
    const body = read({ 'content-type': 'application/json; charset=latin1' }, Buffer.from(text, 'latin1'));
    await expect(body).rejects.toMatchObject({ code: 'InvalidJson', message: description });
  });
});
