import * as z from 'zod';
import { integerSetting, jsonSetting, matching, plainHttpUrl } from './types.ts';

const text = (pattern: RegExp, expected: string) => matching(pattern, '', expected).schema;

/** Paths that are passed on to other services, by the path of this server. */
export function passthroughs() {
  const path = text(
    /^\/(?:hooks|twap|proxies\/[A-Za-z0-9_-]{1,64})$/,
    '"/hooks", "/twap", or "/proxies/" and a name of letters, digits, "_" and "-"',
  );
  const allow = z
    .array(
      text(
        /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))(?:(?:[\w.~-]+|\*)(?:\/(?:[\w.~-]+|\*))*)?$/,
        'a path without a slash at its start; "*" is any one segment',
      ),
      { error: 'must be a list of paths' },
    )
    .min(1, { error: 'must not be empty' })
    .describe('Paths behind that of the passthrough. `*` stands for one segment.');
  const origin = text(/^https?:\/\/[^/\s]+$/, 'an origin, such as https://swap.example.org');
  const service = z.strictObject(
    {
      url: plainHttpUrl().schema.describe('Base URL of the service.'),
      allow,
      methods: z
        .array(z.enum(['GET', 'POST']))
        .min(1)
        .optional()
        .describe('Default: `GET`.'),
      headers: z
        .record(
          text(/^[A-Za-z0-9-]{1,64}$/, 'the name of a header'),
          // Otherwise each request fails, with the value in its error.
          text(/^[\r\n]*[\t\x20-\x7e\x80-\xff]*[\r\n]*$/, 'the value of a header'),
        )
        .optional()
        .describe('Headers of each request, such as the key of the service.'),
      origins: z.array(origin).min(1).optional().describe('Origins that may use it. Default: any, and none.'),
      maxAge: integerSetting(0, 86_400)
        .schema.optional()
        .describe('Seconds that responses of status 200 may be cached.'),
    },
    { error: 'must be { "url", "allow" }, with "methods", "headers", "origins" and "maxAge" on request' },
  );
  return jsonSetting(z.record(path, service, { error: 'must be an object: services by path' }));
}
