import type { ApiRequest } from 'intentbook';
import { expect, test } from 'vitest';
import { WRITE } from '../../../src/http/cost.ts';
import { getRequestCost } from '../../../src/http/route.ts';

const route = { cost: WRITE, bodyLimit: 1000 } as Parameters<typeof getRequestCost>[0];

test.each([
  ['0', 1],
  ['16384', 2],
  ['16777216', 1025],
  // A server reads no more of a body, so that its client is not rejected for days.
  ['99999999', 1025],
  ['999999999999', 1025],
  ['9'.repeat(400), 1025],
  ['-1', 1],
])('a body with the declared length %s costs %i tokens', (length, tokens) => {
  const request = { header: (name: string) => (name === 'content-length' ? length : undefined) } as ApiRequest;
  expect(getRequestCost(route, request).tokens).toBe(tokens);
});
