import { OrderBookError } from '../errors.ts';
import type { Endpoint } from './route.ts';

/** A route that matches a path. */
export interface Match<R extends Endpoint> {
  readonly route: R;
  /** Returns the text that a parameter matched, percent-encoded. */
  param(name: string): string;
}

/** Finds routes. */
export interface Router<R extends Endpoint> {
  /**
   * Finds a route. @throws OrderBookError `NotFound`, or `MethodNotAllowed` with the allowed methods in `data.allow`.
   */
  find(method: string, path: string): Match<R>;
}

/** A route and the names of its parameters, in the order of the path. */
interface RouteEntry<R> {
  readonly route: R;
  readonly names: readonly string[];
}

interface Node<R> {
  readonly literals: Map<string, Node<R>>;
  /** The length of the longest literal. */
  longest: number;
  parameter: Node<R> | undefined;
  readonly routes: Map<string, RouteEntry<R>>;
}

/** Creates a router. Empty segments are ignored, so a trailing slash makes no difference. */
export function createRouter<R extends Endpoint>(routes: readonly R[]): Router<R> {
  const root = createNode<R>();
  for (const route of routes) {
    let at = root;
    const segments = route.path.split('/').filter((segment) => segment !== '');
    for (const segment of segments) {
      if (segment.startsWith(':')) at = at.parameter ??= createNode<R>();
      else {
        const next = at.literals.get(segment) ?? createNode<R>();
        at.literals.set(segment, next);
        at.longest = Math.max(at.longest, segment.length);
        at = next;
      }
    }
    const names = segments.filter((segment) => segment.startsWith(':')).map((segment) => segment.slice(1));
    at.routes.set(route.method, { route, names });
  }

  return {
    find(method, path) {
      const values: string[] = [];
      const end = walk(root, path, 0, values);
      if (end === undefined) throw new OrderBookError('NotFound', 'there is no such route', { path });
      const entry = end.routes.get(method === 'HEAD' ? 'GET' : method);
      if (entry === undefined) {
        const allow = [...end.routes.keys()].flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
        throw new OrderBookError('MethodNotAllowed', undefined, { method, allow });
      }
      const { route, names } = entry;
      return { route, param: (name) => values[names.indexOf(name)] ?? '' };
    },
  };
}

/**
 * Finds the node at the end of a path. Reads the segments one after the other, because `split` takes most of the time
 * of a search.
 *
 * @param values - Receives the texts of the parameters.
 */
function walk<R>(at: Node<R>, path: string, from: number, values: string[]): Node<R> | undefined {
  let start = from;
  while (path[start] === '/') start++;
  if (start >= path.length) return at.routes.size > 0 ? at : undefined;
  const slash = path.indexOf('/', start);
  const end = slash < 0 ? path.length : slash;
  const segment = path.slice(start, end);
  // The hash of a long segment, such as a UID, takes longer than the rest of the search.
  const literal = segment.length > at.longest ? undefined : at.literals.get(segment);
  const found = literal && walk(literal, path, end, values);
  if (found !== undefined || at.parameter === undefined) return found;
  values.push(segment);
  const below = walk(at.parameter, path, end, values);
  if (below === undefined) values.pop();
  return below;
}

function createNode<R>(): Node<R> {
  return { literals: new Map(), longest: 0, parameter: undefined, routes: new Map() };
}
