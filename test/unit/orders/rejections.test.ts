import type { ErrorCode } from 'intentbook';
import { ERRORS, OrderBookError } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { admissionWorld } from './admission-fixture.ts';
import { inProcess, NOT_YET, overHttp, REFUSALS } from './rejection-cases.ts';

const codes = Object.keys(ERRORS) as ErrorCode[]; // the codes are the keys of the table

test('every error code has exactly one test case or a reason for none', () => {
  expect([...REFUSALS.map(({ code }) => code), ...Object.keys(NOT_YET)].sort()).toEqual([...codes].sort());
});

describe.each(REFUSALS)('rejection $code', ({ code, options, deed, data, says, onlyHttp }) => {
  const { status, retryable, meaning } = ERRORS[code];
  const description = code === 'InternalServerError' ? '' : meaning;

  test('in process', async (context) => {
    if (onlyHttp !== undefined) context.skip(onlyHttp);
    await using world = await admissionWorld(options?.());
    const error = await inProcess(world, await deed(world));
    if (!(error instanceof OrderBookError)) throw new Error('it was not rejected');
    expect([error.code, error.status, error.retryable]).toEqual([code, status, retryable]);
    expect(error.data).toEqual(data);
    if (says === undefined) expect(error.message).toBe(description);
    for (const words of says ?? []) expect(error.message).toContain(words);
  });

  test('over HTTP', async () => {
    await using world = await admissionWorld(options?.());
    const answer = await overHttp(world, await deed(world));
    const body = answer.json() as Record<string, unknown>;
    expect([body['errorType'], answer.status]).toEqual([code, status]);
    expect(body['data']).toEqual(data);
    if (says === undefined) expect(body['description']).toBe(description);
    for (const words of says ?? []) expect(body['description']).toContain(words);
    expect(Object.keys(body).filter((key) => !['errorType', 'description', 'data'].includes(key))).toEqual([]);
    expect(answer.header('content-type')).toMatch(/^application\/json/);
    expect(answer.header('cache-control')).toBe('no-store');
    expect(answer.header('etag')).toBeUndefined();
    expect(answer.header('retry-after')).toEqual(retryable ? expect.stringMatching(/^[1-9][0-9]*$/) : undefined);
    expect(meaning).toMatch(/\.$/);
  });
});
