import { OrderBookError } from '../errors.ts';
import type { Call } from './route.ts';

/**
 * Requires the operator token of the interface: `Authorization: Bearer <token>`.
 *
 * @throws OrderBookError `Forbidden` if the request carries no valid token, or the interface has no operator token.
 */
export function requireOperator({ request, operatorToken }: Pick<Call, 'request' | 'operatorToken'>): void {
  if (operatorToken === undefined) throw new OrderBookError('Forbidden', 'this interface has no operator token');
  const [, token] = /^Bearer +(\S+)$/i.exec(request.header('authorization') ?? '') ?? [];
  if (token === undefined || !isEqual(token, operatorToken)) {
    throw new OrderBookError('Forbidden', 'an operator token is needed: Authorization: Bearer <token>');
  }
}

/** Compares in a time that does not depend on the content, so that the time reveals no prefix of the token. */
function isEqual(given: string, expected: string): boolean {
  let difference = given.length ^ expected.length;
  for (let i = 0; i < given.length; i++) difference |= given.charCodeAt(i) ^ expected.charCodeAt(i % expected.length);
  return difference === 0;
}
