import { OrderBookError } from '../errors.ts';
import type { Call } from './route.ts';

/**
 * Lets operators through, who show the token of this interface: `Authorization: Bearer <token>`.
 *
 * @throws OrderBookError `Forbidden` when the request has no such token, or the interface has none.
 */
export function requireOperator({ request, operatorToken }: Pick<Call, 'request' | 'operatorToken'>): void {
  if (operatorToken === undefined) throw new OrderBookError('Forbidden', 'this interface has no operator token');
  const [, token] = /^Bearer +(\S+)$/i.exec(request.header('authorization') ?? '') ?? [];
  if (token === undefined || !isSame(token, operatorToken)) {
    throw new OrderBookError('Forbidden', 'an operator token is needed: Authorization: Bearer <token>');
  }
}

/** Takes as long whatever the texts have in common, so that nobody learns a token by its beginnings. */
function isSame(given: string, expected: string): boolean {
  let difference = given.length ^ expected.length;
  for (let i = 0; i < given.length; i++) difference |= given.charCodeAt(i) ^ expected.charCodeAt(i % expected.length);
  return difference === 0;
}
