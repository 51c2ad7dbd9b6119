import { OrderBookError } from '../errors.ts';
import type { Endpoint } from './route.ts';

/** A route that fits a path. */
export interface Match<R extends Endpoint> {
  readonly route: R;
  /** What a parameter of the route has matched, still percent-encoded. */
  param(name: string): string;
}

/** Finds routes. */
export interface Router<R extends Endpoint> {
  /** @throws OrderBookError `NotFound`, or `MethodNotAllowed` with the methods that are in `data.allow`. */
  find(method: string, path: string): Match<R>;
}

/** A route, and which segment of a path is which of its parameters. */
interface Found<R> {
  readonly route: R;
  readonly places: ReadonlyMap<string, number>;
}

interface Node<R> {
  readonly literals: Map<string, Node<R>>;
  parameter: Node<R> | undefined;
  readonly routes: Map<string, Found<R>>;
}

/** Makes a router. Empty segments do not count, so a trailing slash is as good as none. */
export function createRouter<R extends Endpoint>(routes: readonly R[]): Router<R> {
  const root = node<R>();
  for (const route of routes) {
    let at = root;
    const segments = segmentsOf(route.path);
    for (const segment of segments) {
      if (segment.startsWith(':')) at = at.parameter ??= node<R>();
      else {
        const next = at.literals.get(segment) ?? node<R>();
        at.literals.set(segment, next);
        at = next;
      }
    }
    const places = new Map(
      segments.flatMap((name, place) => (name.startsWith(':') ? [[name.slice(1), place] as const] : [])),
    );
    at.routes.set(route.method, { route, places });
  }

  return {
    find(method, path) {
      const segments = segmentsOf(path);
      const end = walk(root, segments, 0);
      if (end === undefined) throw new OrderBookError('NotFound', 'there is no such route', { path });
      const found = end.routes.get(method === 'HEAD' ? 'GET' : method);
      if (found === undefined) {
        const allow = [...end.routes.keys()].flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
        throw new OrderBookError('MethodNotAllowed', undefined, { method, allow });
      }
      const { route, places } = found;
      return { route, param: (name) => segments[places.get(name) ?? -1] ?? '' };
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

function node<R>(): Node<R> {
  return { literals: new Map(), parameter: undefined, routes: new Map() };
}

function segmentsOf(path: string): string[] {
  const segments = (path.startsWith('/') ? path.slice(1) : path).split('/');
  return segments.includes('') ? segments.filter((segment) => segment !== '') : segments;
}
