import { type ApiRequest, CORS_HEADERS } from './message.ts';

/** Which web origins may read responses. `false`: the application sets its own headers, and the interface sets none. */
export type CorsOption = false | { readonly origin: string | readonly string[] };

type Headers = Readonly<Record<string, string>>;

/**
 * Returns the CORS headers of all responses, or a function that returns those of one. `*` allows any origin. A list is
 * compared with the `Origin` of the request, and a response for another origin has no CORS headers.
 *
 * @throws TypeError for an option of another form.
 */
export function createCors(option: CorsOption | undefined): Headers | ((request: ApiRequest) => Headers) {
  if (option === undefined) return CORS_HEADERS;
  if (option === false) return {};
  const { origin: allowed } = Object(option) as { readonly origin?: unknown }; // JavaScript callers may pass anything
  if (allowed === '*') return CORS_HEADERS;
  const origins = (Array.isArray(allowed) ? allowed : [allowed]).map(parseOrigin);
  if (origins.includes(undefined)) {
    throw new TypeError(`cors.origin must be "*", an origin or a list of origins, got ${JSON.stringify(allowed)}`);
  }
  return (request) => {
    const origin = request.header('origin');
    if (origin === undefined || !origins.includes(origin)) return { vary: 'origin' };
    return { ...CORS_HEADERS, 'access-control-allow-origin': origin, vary: 'origin' };
  };
}

/** Parses an origin and returns it as browsers send it: in lower case, without a slash and without a default port. */
function parseOrigin(text: unknown): string | undefined {
  if (typeof text !== 'string' || !/^[a-z][a-z\d+.-]*:\/\/[^/?#@*]+\/?$/i.test(text) || !URL.canParse(text)) return;
  const { origin, protocol, host } = new URL(text);
  // The origin of a scheme without a standard port, such as that of a browser extension, is `null` here.
  return origin === 'null' ? `${protocol}//${host}` : origin;
}
