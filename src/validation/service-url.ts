/** The address of an HTTP service, with its credentials as a header. */
export interface ServiceUrl {
  /** Without credentials. */
  readonly base: URL;
  /** The `authorization` header, or nothing. */
  readonly authorization: Readonly<Record<string, string>>;
}

/**
 * Parses the base URL of a service. A user and a password are moved to a Basic `Authorization` header, because `fetch`
 * rejects URLs with credentials.
 *
 * @param name - The option, for errors.
 * @throws TypeError `<caller>: url must be an http or https URL`. It does not repeat the URL, which may be secret.
 */
export function parseServiceUrl(caller: string, url: string, name = 'url'): ServiceUrl {
  const base = URL.canParse(url) ? new URL(url) : undefined;
  if (base === undefined || !['http:', 'https:'].includes(base.protocol)) {
    throw new TypeError(`${caller}: ${name} must be an http or https URL`);
  }
  const { username, password } = base;
  base.username = '';
  base.password = '';
  if (username === '' && password === '') return { base, authorization: {} };
  const credentials = new TextEncoder().encode(`${decodePercent(username)}:${decodePercent(password)}`);
  return { base, authorization: { authorization: `Basic ${btoa(String.fromCharCode(...credentials))}` } };
}

/** Returns the URL of a path below the base URL. */
export function getEndpoint({ base }: ServiceUrl, path: string): URL {
  const endpoint = new URL(base);
  endpoint.pathname = `${base.pathname.replace(/\/+$/, '')}/${path}`;
  return endpoint;
}

/** Decodes percent encoding. Returns a text with an invalid encoding unchanged. */
function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
