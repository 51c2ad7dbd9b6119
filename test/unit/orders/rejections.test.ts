import type { ErrorCode } from 'intentbook';
import { ERRORS, OrderBookError } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { admissionFixture } from './admission-fixture.ts';
import { inProcess, NOT_YET, overHttp, REJECTION_CASES } from './rejection-cases.ts';

const codes = Object.keys(ERRORS) as ErrorCode[]; // the codes are the keys of the table

test('every error code has exactly one test case or a reason for none', () => {
  expect([...REJECTION_CASES.map(({ code }) => code), ...Object.keys(NOT_YET)].sort()).toEqual([...codes].sort());
});

describe.each(REJECTION_CASES)('rejection $code', ({ code, options, call, data, texts, onlyHttp }) => {
  const { status, retryable, meaning } = ERRORS[code];
  const description = code === 'InternalServerError' ? '' : new OrderBookError(code).message;

  test('in process', async (context) => {
    if (onlyHttp !== undefined) context.skip(onlyHttp);
    await using fixture = await admissionFixture(options?.());
    const error = await inProcess(fixture, await call(fixture));
    if (!(error instanceof OrderBookError)) throw new Error('it was not rejected');
    expect([error.code, error.status, error.retryable]).toEqual([code, status, retryable]);
    expect(error.data).toEqual(data);
    if (texts === undefined) expect(error.message).toBe(description);
    for (const words of texts ?? []) expect(error.message).toContain(words);
  });

  test('over HTTP', async () => {
    await using fixture = await admissionFixture(options?.());
    const answer = await overHttp(fixture, await call(fixture));
    const body = answer.json() as Record<string, unknown>;
    expect([body['errorType'], answer.status]).toEqual([code, status]);
    expect(body['data']).toEqual(data);
    if (texts === undefined) expect(body['description']).toBe(description);
    for (const words of texts ?? []) expect(body['description']).toContain(words);
    expect(Object.keys(body).filter((key) => !['errorType', 'description', 'data'].includes(key))).toEqual([]);
    expect(answer.header('content-type')).toMatch(/^application\/json/);
    expect(answer.header('cache-control')).toBe('no-store');
    expect(answer.header('etag')).toBeUndefined();
    expect(answer.header('retry-after')).toEqual(retryable ? expect.stringMatching(/^[1-9][0-9]*$/) : undefined);
    expect(meaning).toMatch(/\.$/);
  });
});
