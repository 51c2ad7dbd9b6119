/** Creates the header `Link` with the address of the next page, if there is one (RFC 8288). */
export function nextPageLink(query: URLSearchParams, cursor: string | undefined): Record<string, string> {
  if (cursor === undefined) return {};
  const next = new URLSearchParams(query);
  next.delete('offset');
  next.set('cursor', cursor);
  // A reference that is only a query keeps the path, with any prefix of the mount (RFC 3986, 5.2.2).
  return { link: `<?${next}>; rel="next"` };
}
