/**
 * Creates a function that returns the path template of a request, for metrics and traces. The number of templates is
 * bounded, whatever paths clients request. `undefined` for a path without a template.
 *
 * @param paths - Templates of an OpenAPI document: `/api/v1/orders/{uid}`.
 * @param prefixes - Paths of the books. Default: the root.
 */
export function createRouteNames(
  paths: readonly string[],
  prefixes: readonly string[] = [],
): (path: string) => string | undefined {
  const templates = paths.map((template) => ({
    template,
    segments: splitPath(template),
    parameters: template.split('{').length - 1,
  }));
  templates.sort((a, b) => a.parameters - b.parameters);
  const below = prefixes.filter((prefix) => prefix !== '/').sort((a, b) => b.length - a.length);

  return (path) => {
    const prefix = below.find((each) => path.startsWith(`${each}/`)) ?? '';
    const requested = splitPath(path.slice(prefix.length));
    const match = templates.find(
      ({ segments }) =>
        segments.length === requested.length &&
        segments.every((segment, i) => segment.startsWith('{') || segment === requested[i]),
    );
    return match && prefix + match.template;
  };
}

function splitPath(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}
