import { OrderBookError } from '../errors.ts';
import type { Route } from './route.ts';

/** A route that fits a path, with what its parameters matched, still percent-encoded. */
export interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** Finds routes. */
export interface Router {
  /** @throws OrderBookError `NotFound`, or `MethodNotAllowed` with the methods that are in `data.allow`. */
  find(method: string, path: string): Match;
}

interface Node {
  readonly literals: Map<string, Node>;
  parameter: Node | undefined;
  readonly routes: Map<string, Route>;
}

/** Makes a router. Empty segments do not count, so a trailing slash is as good as none. */
export function createRouter(routes: readonly Route[]): Router {
  const root = node();
  for (const route of routes) {
    let at = root;
    for (const segment of segmentsOf(route.path)) {
      if (segment.startsWith(':')) at = at.parameter ??= node();
      else {
        const next = at.literals.get(segment) ?? node();
        at.literals.set(segment, next);
        at = next;
      }
    }
    at.routes.set(route.method, route);
  }

  return {
    find(method, path) {
      const segments = segmentsOf(path);
      const end = walk(root, segments, 0);
      if (end === undefined) throw new OrderBookError('NotFound', 'there is no such route', { path });
      const route = end.routes.get(method === 'HEAD' ? 'GET' : method);
      if (route === undefined) {
        const allow = [...end.routes.keys()].flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
        throw new OrderBookError('MethodNotAllowed', undefined, { method, allow });
      }
      const params: Record<string, string> = Object.create(null);
      segmentsOf(route.path).forEach((name, i) => {
        if (name.startsWith(':')) params[name.slice(1)] = segments[i] ?? '';
      });
      return { route, params };
    },
  };
}

function walk(at: Node, segments: readonly string[], index: number): Node | undefined {
  const segment = segments[index];
  if (segment === undefined) return at.routes.size > 0 ? at : undefined;
  const literal = at.literals.get(segment);
  const found = literal && walk(literal, segments, index + 1);
  return found ?? (at.parameter && walk(at.parameter, segments, index + 1));
}

function node(): Node {
  return { literals: new Map(), parameter: undefined, routes: new Map() };
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}
