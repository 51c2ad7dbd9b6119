import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ApiRequest, type ApiResponse, OrderBookError } from 'intentbook';
import { rejectionResponse } from '#internal';

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
  "worker-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
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

/** Creates a function that responds with a file of the page. */
export function createPageFiles(): (name: string, request: ApiRequest) => ApiResponse {
  const files = readPage();
  return (name, { method, header }) => {
    const allow = ['GET', 'HEAD'];
    if (!allow.includes(method)) {
      const error = new OrderBookError('MethodNotAllowed', undefined, { method, allow });
      return rejectionResponse(error, { allow: allow.join(', ') });
    }
    const file = files.get(name);
    if (file === undefined) return rejectionResponse(new OrderBookError('NotFound', 'the explorer has no such file'));
    const headers = { ...HEADERS, 'content-type': TYPES[extname(name)] ?? 'application/octet-stream', etag: file.etag };
    if (header('if-none-match') === file.etag) return { status: 304, headers };
    return { status: 200, headers, body: file.text };
  };
}

/** Reads all files of the page once. Other names cannot be requested, so a path cannot leave the directory. */
function readPage(): Map<string, { readonly text: string; readonly etag: string }> {
  // The files are next to this file in the sources and in the package.
  const root = fileURLToPath(new URL('./page/', import.meta.url));
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
