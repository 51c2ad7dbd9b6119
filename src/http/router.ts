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

/** A route and the segment index of each of its parameters. */
interface RouteEntry<R> {
  readonly route: R;
  readonly indexes: ReadonlyMap<string, number>;
}

interface Node<R> {
  readonly literals: Map<string, Node<R>>;
  parameter: Node<R> | undefined;
  readonly routes: Map<string, RouteEntry<R>>;
}

/** Creates a router. Empty segments are ignored, so a trailing slash makes no difference. */
export function createRouter<R extends Endpoint>(routes: readonly R[]): Router<R> {
  const root = createNode<R>();
  for (const route of routes) {
    let at = root;
    const segments = splitPath(route.path);
    for (const segment of segments) {
      if (segment.startsWith(':')) at = at.parameter ??= createNode<R>();
      else {
        const next = at.literals.get(segment) ?? createNode<R>();
        at.literals.set(segment, next);
        at = next;
      }
    }
    const indexes = new Map(
      segments.flatMap((name, index) => (name.startsWith(':') ? [[name.slice(1), index] as const] : [])),
    );
    at.routes.set(route.method, { route, indexes });
  }

  return {
    find(method, path) {
      const segments = splitPath(path);
      const end = walk(root, segments, 0);
      if (end === undefined) throw new OrderBookError('NotFound', 'there is no such route', { path });
      const entry = end.routes.get(method === 'HEAD' ? 'GET' : method);
      if (entry === undefined) {
        const allow = [...end.routes.keys()].flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
        throw new OrderBookError('MethodNotAllowed', undefined, { method, allow });
      }
      const { route, indexes } = entry;
      return { route, param: (name) => segments[indexes.get(name) ?? -1] ?? '' };
    },
  };
}

function walk<R>(at: Node<R>, segments: readonly string[], index: number): Node<R> | undefined {
  const segment = segments[index];
  if (segment === undefined) return at.routes.size > 0 ? at : undefined;
  const literal = at.literals.get(segment);
  const found = literal && walk(literal, segments, index + 1);
  return found ?? (at.parameter && walk(at.parameter, segments, index + 1));
}

function createNode<R>(): Node<R> {
  return { literals: new Map(), parameter: undefined, routes: new Map() };
}

function splitPath(path: string): string[] {
  const segments = (path.startsWith('/') ? path.slice(1) : path).split('/');
  return segments.includes('') ? segments.filter((segment) => segment !== '') : segments;
}
