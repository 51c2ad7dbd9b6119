import { describe, expect, test } from 'vitest';
import { formatError } from '../../../src/validation/error-text.ts';

const refused = () => Object.assign(new Error('connect ECONNREFUSED ::1:80'), { code: 'ECONNREFUSED' });
const attempts = () => Object.assign(new AggregateError([refused(), refused()]), { code: 'ECONNREFUSED' });
const loop = new Error('a');
loop.cause = loop;

describe('text of an error', () => {
  test.each([
    ['a message', new Error('no'), 'no'],
    [
      'a message and a cause',
      new TypeError('fetch failed', { cause: new Error('bad port') }),
      'fetch failed (bad port)',
    ],
    ['failed attempts at several addresses', attempts(), 'connect ECONNREFUSED ::1:80'],
    [
      'such attempts as the cause',
      new TypeError('fetch failed', { cause: attempts() }),
      'fetch failed (connect ECONNREFUSED ::1:80)',
    ],
    ['a cause without a text', new Error('no', { cause: {} }), 'no'],
    ['a code only', Object.assign(new Error(), { code: 'EPIPE' }), 'EPIPE'],
    ['nothing', new RangeError(), 'RangeError'],
    ['another realm', { name: 'Error', message: 'no' }, 'no'],
    ['itself as its cause', loop, 'a (a (a (a)))'],
    ['an error as a member', { error: { code: -32000, message: 'no' } }, 'no'],
    ['a text as a member', { error: 'no' }, 'no'],
    ['an object as its message', { message: { message: 'no' } }, 'no'],
    ['a number as its message', { message: 5 }, '5'],
    ['a status', { status: 502, statusText: 'Bad Gateway' }, '502'],
    ['a text', 'no', 'no'],
    ['a number', 5, '5'],
    ['null', null, 'unknown error'],
    ['undefined', undefined, 'unknown error'],
    ['no text', {}, 'unknown error'],
  ])('with %s is not empty', (_, error, text) => {
    expect(formatError(error)).toBe(text);
  });
});
