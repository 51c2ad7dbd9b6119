import type { OpenApiDocument } from 'intentbook/openapi';

/**
 * Names the routes that requests go to by the templates of their paths, so that what is counted by route stays bounded
 * whatever strangers ask for.
 *
 * @param prefixes where books are served.
 */
export function createRouteNames(document: OpenApiDocument, prefixes: readonly string[]): (path: string) => string {
  const templates = Object.keys(document.paths).map((template) => ({
    template,
    segments: segmentsOf(template),
    parameters: template.split('{').length - 1,
  }));
  templates.sort((a, b) => a.parameters - b.parameters);
  const below = prefixes.filter((prefix) => prefix !== '/').sort((a, b) => b.length - a.length);

  return (path) => {
    const prefix = below.find((each) => path.startsWith(`${each}/`)) ?? '';
    const asked = segmentsOf(path.slice(prefix.length));
    const found = templates.find(
      ({ segments }) =>
        segments.length === asked.length &&
        segments.every((segment, i) => segment.startsWith('{') || segment === asked[i]),
    );
    return found === undefined ? 'other' : prefix + found.template;
  };
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}
