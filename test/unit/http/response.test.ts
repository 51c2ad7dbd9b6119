import { expect, test } from 'vitest';
import { joinHeaders } from '../../../src/http/message.ts';

test('joined headers are those of the second set, with both values of vary', () => {
  const cors = { 'access-control-allow-origin': 'https://app.example', vary: 'origin' };
  expect(joinHeaders(cors, { vary: 'accept', etag: '"1"' })).toEqual({ ...cors, vary: 'origin, accept', etag: '"1"' });
  expect(joinHeaders(cors, { etag: '"1"' })).toEqual({ ...cors, etag: '"1"' });
  expect(joinHeaders({ 'cache-control': 'no-store' }, { 'cache-control': 'max-age=1', vary: 'accept' })).toEqual({
    'cache-control': 'max-age=1',
    vary: 'accept',
  });
});
