import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Api, ApiRequest, ApiResponse } from 'intentbook';
import { OrderBookError } from 'intentbook';
import { rejectionResponse } from '#internal';

/** Directory of the page's files, next to this file in the sources and in the package. */
const PAGE = new URL('./page/', import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Content security policy: only resources of the same origin, nothing inline, no framing. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-cache',
};

/** Web page that shows the orders of a server's books. */
export interface Explorer extends Api {
  /** Returns the page itself, for the root of a server. */
  page(request: ApiRequest): ApiResponse;
}

/**
 * Creates a web page that shows the orders of a server. The server must return the JSON of `GET /`. The page requests
 * only its own origin and needs no build step. The page is served at `/` (`page`) and its files below `/explorer`
 * (`handle`), so it must be mounted at the root of a server.
 *
 * ```ts
 * const explorer = createExplorer();
 * const response = wantsHtml(request) ? explorer.page(request) : await api.handle(request);
 * ```
 */
export function createExplorer(): Explorer {
  const files = readPage();
  const serve = (name: string, { method, header }: ApiRequest): ApiResponse => {
    const allow = ['GET', 'HEAD'];
    if (!allow.includes(method)) {
      const error = new OrderBookError('MethodNotAllowed', undefined, { method, allow });
      return rejectionResponse(error, { allow: allow.join(', ') });
    }
    const file = files.get(name);
    if (file === undefined) return rejectionResponse(new OrderBookError('NotFound', 'The explorer has no such file'));
    const headers = { ...HEADERS, 'content-type': TYPES[extname(name)] ?? 'application/octet-stream', etag: file.etag };
    if (header('if-none-match') === file.etag) return { status: 304, headers };
    return { status: 200, headers, body: method === 'HEAD' ? '' : file.text };
  };
  return {
    handlesPath: (path) => path === '/explorer' || path.startsWith('/explorer/'),
    handle: async (request) => {
      const name = request.path.replace(/^\/explorer\/?/, '');
      return serve(name === '' ? 'index.html' : name, request);
    },
    page: (request) => serve('index.html', request),
  };
}

/** Reads all files of the page once. Other names cannot be requested, so a path cannot leave the directory. */
function readPage(): Map<string, { readonly text: string; readonly etag: string }> {
  const root = fileURLToPath(PAGE);
  const names = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`);
  return new Map(
    names.map((path) => {
      const text = readFileSync(path, 'utf8');
      const name = path.slice(root.length).replaceAll('\\', '/').replace(/^\//, '');
      return [name, { text, etag: `"${createHash('sha256').update(text).digest('base64url')}"` }];
    }),
  );
}
