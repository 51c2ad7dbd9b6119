import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type Api, type ApiResponse, OrderBookError, type Profile } from 'intentbook';
import { type OpenApiDocument, openApiDocument } from 'intentbook/openapi';
import { assertKnownOptions, rejectionResponse, VERSION } from '#internal';
import type { OpenBook } from '../books/open-books.ts';
import { createServerApi, type Page, removeTrailingSlashes } from './server-api.ts';

/** Content security policy of the page: only files of this server. The library writes inline styles. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="HTTP interface of this order book">
<title>intentbook ${VERSION}: HTTP interface</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/style.css">
<header>intentbook ${VERSION} <a href="openapi.json">OpenAPI</a></header>
<div id="reference"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</html>
`;

/** The page without swagger-ui-dist. Without this text it would be blank. */
const WITHOUT_LIBRARY = HTML.replace(
  /<div id="reference">[\s\S]*<\/html>/,
  `<main style="padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif">
<p>This page requires a package on the server: <code>npm install swagger-ui-dist</code></p>
<p>The <a href="openapi.json">OpenAPI document</a> describes the same interface.</p>
</main>
</html>`,
);

const STYLE = `body { margin: 0 }
header { padding: 1rem; font: 1rem/1.5 system-ui, sans-serif }
header a { margin-left: 1rem; color: #0f766e }
html.dark-mode { background: #101514; color: #e4ece9 }
html.dark-mode header a { color: #5eead4 }
`;

const START = `const dark = matchMedia('(prefers-color-scheme: dark)');
const theme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', theme);
theme();
SwaggerUIBundle({ url: 'openapi.json', dom_id: '#reference', deepLinking: true, validatorUrl: null });
`;

export function describe(deployments: readonly OpenBook[]): OpenApiDocument {
  return openApiDocument({
    servers: deployments.map(({ path, chain, environment }) => ({
      url: path,
      description: `${chain}, ${environment}`,
    })),
    standalone: true,
    // Mixed books are described by the specification.
    codes: deployments.every(({ book }) => book.rules.codes === 'production') ? 'production' : 'specification',
  });
}

/** Options of the pages of the API reference. */
export interface OpenApiPagesOptions {
  /** Base URLs of the books, relative to the pages. Default: the pages' own path. */
  readonly servers?: readonly { readonly url: string; readonly description?: string }[];
  /** The profile of the codes of the books. Default: `specification`. */
  readonly codes?: Profile;
}

/**
 * Creates an interface with `/openapi.json` and `/docs`, to be mounted in an application. The page requires the package
 * swagger-ui-dist and no network access.
 *
 * ```ts
 * app.use('/sepolia', nodeHandler(composeApis(openApiPages(), createApi(book))));
 * ```
 */
export function openApiPages(options: OpenApiPagesOptions = {}): Api {
  assertKnownOptions('openApiPages', options, ['servers', 'codes']);
  const { servers = [{ url: '.' }], codes = 'specification' } = options;
  const document = openApiDocument({ servers, codes });
  const pages = referencePages(() => document);
  const { handle } = createServerApi({ mounted: [], pages });
  return { handle, handlesPath: (path) => Object.hasOwn(pages, removeTrailingSlashes(path)) };
}

/** Creates the OpenAPI document, on the first request, and its page, which needs no network access. */
export function referencePages(document: () => OpenApiDocument): Readonly<Record<string, Page>> {
  let text: Uint8Array | undefined;
  return {
    '/openapi.json': () => {
      text ??= new TextEncoder().encode(JSON.stringify(document()));
      const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' };
      return { status: 200, headers, body: text };
    },
    '/docs': ({ path }) => {
      // The page names its files relative to a path without a trailing slash.
      const slashes = path.length - removeTrailingSlashes(path).length;
      if (slashes > 0) return { status: 308, headers: { location: `${'../'.repeat(slashes)}docs` } };
      return content('text/html; charset=utf-8', isReferenceServed() ? HTML : WITHOUT_LIBRARY);
    },
    '/docs/start.js': () => content('text/javascript; charset=utf-8', START),
    '/docs/style.css': () => content('text/css; charset=utf-8', STYLE),
    '/docs/swagger-ui-bundle.js': () => ofLibrary('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
    '/docs/swagger-ui.css': () => ofLibrary('swagger-ui.css', 'text/css; charset=utf-8'),
  };
}

function content(type: string, body: string | Uint8Array): ApiResponse {
  const headers = {
    'content-type': type,
    'cache-control': 'no-cache',
    'content-security-policy': POLICY,
    'x-content-type-options': 'nosniff',
  };
  return { status: 200, headers, body };
}

/** Returns whether the library of the page is installed. */
export function isReferenceServed(): boolean {
  try {
    createRequire(import.meta.url).resolve('swagger-ui-dist/swagger-ui-bundle.js');
    return true;
  } catch {
    return false;
  }
}

/** A file of the optional peer swagger-ui-dist. */
async function ofLibrary(file: string, type: string): Promise<ApiResponse> {
  try {
    return content(type, await readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${file}`)));
  } catch {
    return rejectionResponse(
      new OrderBookError('NotFound', 'this page requires a package: npm install swagger-ui-dist'),
    );
  }
}
