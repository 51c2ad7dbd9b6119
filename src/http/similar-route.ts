import { OrderBookError } from '../errors.ts';
import { findSimilarName } from '../validation/options.ts';

/**
 * Rejects a request that matches no route. The message names the path that was probably meant: one with another prefix,
 * otherwise the most similar one.
 *
 * @param error - `NotFound` without a message, or `MethodNotAllowed`.
 */
export function rejectRoute(error: OrderBookError, path: string, routes: readonly { readonly path: string }[]): never {
  if (error.code !== 'NotFound') throw error;
  const wanted = toShape(path);
  const known = new Map(routes.map((route) => [toShape(route.path), route.path]));
  // Values alone, such as a UID, have no similar path. The cost of a comparison grows with the length.
  const isComparable = /[a-z]/i.test(wanted) && wanted.length <= MAX_LENGTH;
  const shapes = isComparable ? [...known.keys()].filter((shape) => shape !== '') : [];
  const related = shapes.filter((shape) => shape.endsWith(wanted) || wanted.endsWith(shape));
  const [shape = findSimilarName(wanted, shapes)] = related.sort((a, b) => a.length - b.length);
  const similar = shape === undefined ? undefined : known.get(shape)?.replace(/:(\w+)/g, '{$1}');
  const hint = similar === undefined ? '' : `, did you mean ${similar}?`;
  throw new OrderBookError('NotFound', `there is no such route${hint}`, { path });
}

/** Maximum length of a path that is compared, without its values. */
const MAX_LENGTH = 64;

/** Replaces parameters and values, such as addresses and numbers, by a colon. */
function toShape(path: string): string {
  return path
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => (/^(?::|0x|\d+$)/i.test(segment) ? '/:' : `/${segment}`))
    .join('');
}
