import assert from 'node:assert/strict';
import type { WireOrder } from '../../support/orders.ts';
import { account } from '../../support/orders.ts';
import type { Answer, HttpFixture } from './http-fixture.ts';

/** One rule of the HTTP interface. A case creates its own owners, so that cases share a book independently. */
export interface HttpCase {
  readonly name: string;
  /** Part of the request that a host can validate before its mount: the bytes of a body, or the encoding of a URL. */
  readonly validates?: 'body' | 'url';
  run(fixture: HttpFixture): Promise<void>;
}

let owners = 0;

/** Returns an owner that no other case uses. */
export const newOwner = () => account(1_000_000 * process.pid + ++owners);

export const ORDERS = '/api/v1/orders';

/** UID of an unknown order. */
export const MISSING_UID = `0x${'ab'.repeat(32)}${'cd'.repeat(20)}ffffffff`;

/** Values of wrong types for most fields. */
export const WRONG: readonly unknown[] = [
  null,
  true,
  7,
  -1,
  1.5,
  '',
  'x',
  '0x',
  [],
  {},
  '1'.repeat(1000),
  { __proto__: null },
];

/** Asserts a rejection in the error format and returns its body. */
export function rejected(
  answer: Answer,
  status: number,
  errorType: string,
): { description: string; data?: Record<string, unknown> } {
  assert.equal(answer.status, status, answer.text);
  const body = answer.json() as { errorType: string; description: string; data?: Record<string, unknown> };
  assert.equal(body.errorType, errorType, answer.text);
  assert.equal(typeof body.description, 'string');
  assert.equal(answer.header('cache-control'), 'no-store');
  assert.match(answer.header('content-type') ?? '', /^application\/json/);
  assert.equal(answer.header('access-control-allow-origin'), '*');
  return body;
}

/** Submits an order that must be accepted and returns its UID. */
export async function place(fixture: HttpFixture, order: WireOrder): Promise<string> {
  const answer = await fixture.send('POST', ORDERS, { body: order });
  assert.equal(answer.status, 201, answer.text);
  return answer.json() as string;
}

export const inTenMinutes = (fixture: HttpFixture) => fixture.now() + 600;
