/** On every answer, errors too: anybody may read, and nobody with credentials (decision 1.17). */
export const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Link, ETag, Retry-After',
} as const;

/** On the answer to OPTIONS, which is the same for any path. */
export const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE, OPTIONS',
  'access-control-allow-headers': 'Content-Type, Cache-Control, If-None-Match, X-API-Key, Authorization, Last-Event-ID',
  'access-control-max-age': '86400',
} as const;
