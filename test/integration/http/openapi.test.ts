import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createApi, createOrderBook, ERRORS } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import type { OpenApiDocument } from 'intentbook/openapi';
import { openApiDocument } from 'intentbook/openapi';
import { openApiPages, serve } from 'intentbook/server';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { accountRoutes } from '../../../src/http/account-routes/index.ts';
import { OPERATIONS } from '../../../src/http/openapi/operations.ts';
import { ORDER_BOOK_ROUTES } from '../../../src/http/routes/index.ts';
import { PROBE_ROUTES } from '../../../src/http/routes/system.ts';
import { CODE_DIFFERENCES } from '../../../src/protocol/profile-codes.ts';
import { readPage } from '../../package/docs-pages.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const folder = mkdtempSync(join(root, 'test/integration/http/.generated-'));
afterAll(() => rmSync(folder, { recursive: true }));

const document = openApiDocument({ standalone: true });
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    path,
    method,
    // The format of the document.
    ...(operation as { operationId: string; parameters?: { name: string; in: string }[]; responses: object }),
  })),
);

describe('OpenAPI document', () => {
  test('lists every route with every path parameter', () => {
    const routes = [...ORDER_BOOK_ROUTES, ...PROBE_ROUTES, ...accountRoutes()];
    const wanted = routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
    expect(operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`).sort()).toEqual(wanted.sort());
    for (const { path, parameters = [] } of operations) {
      const named = parameters.filter((each) => each.in === 'path').map(({ name }) => name);
      expect(named).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    }
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    expect(Object.keys(OPERATIONS).sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort());
  });

  /** Returns each code that a document lists, with its status. */
  function listCodes({ paths }: OpenApiDocument): ReadonlySet<string> {
    const responses = Object.values(paths).flatMap((methods) =>
      Object.values(methods).flatMap((operation) => Object.entries((operation as { responses: object }).responses)),
    );
    return new Set(
      responses.flatMap(([status, response]) =>
        [...JSON.stringify(response).matchAll(/(?<=`)\w+(?=`:)/g)].map(([code]) => `${code} ${status}`),
      ),
    );
  }

  test('lists every error code under its status, and no other', () => {
    const production = new Set(CODE_DIFFERENCES.map((each) => `${each.production.code} ${each.production.status}`));
    const table = Object.entries(ERRORS).map(([code, { status }]) => `${code} ${status}`);
    const listed = listCodes(document);
    expect([...listed].filter((each) => !table.includes(each))).toEqual([]);
    const listedInProduction = listCodes(openApiDocument({ codes: 'production' }));
    expect([...production].filter((each) => !listedInProduction.has(each))).toEqual([]);
    expect([...listedInProduction].filter((each) => !table.includes(each) && !production.has(each))).toEqual([]);
    expect(listedInProduction.has('NoLiquidity 400')).toBe(false);
    const missing = table.filter((each) => !listed.has(each) && !listedInProduction.has(each));
    expect(missing).toEqual([]);
  });

  test('lists the codes of a route only in its responses, not in the schema of errors', () => {
    const { Error: schema } = document.components.schemas as { Error?: { properties: { errorType: object } } };
    expect(schema?.properties.errorType).not.toHaveProperty('enum');
    const read = JSON.stringify(document.paths['/api/v1/version']);
    expect(read).toContain('RateLimited');
    expect(read).not.toContain('InvalidSignature');
  });

  test.each(['/api/v1/quote', '/api/v1/quote/stream'])('lists no code of submission that %s never returns', (path) => {
    const { responses } = operations.find((each) => each.path === path && each.method === 'post') ?? {};
    const described = JSON.stringify(responses);
    // Amounts are InvalidParameter.
    for (const code of ['ZeroAmount', 'SellAmountOverflow', 'BuyAmountOverflow'])
      expect(described).not.toContain(`"${code}"`);
    for (const code of ['InvalidParameter', 'AppdataFromMismatch', 'TooMuchGas'])
      expect(described).toContain(`"${code}"`);
  });

  test('has version 0.0.1 of the contract and marks deprecated parts', () => {
    expect(document).toMatchObject({ openapi: '3.1.0', info: { version: '0.0.1' } });
    // The format of the document.
    const { Order } = document.components.schemas as { Order?: { properties: Record<string, { deprecated?: true }> } };
    const deprecated = Object.entries(Order?.properties ?? {}).filter(([, property]) => property.deprecated);
    expect(deprecated.map(([name]) => name)).toEqual(['availableBalance', 'executedFeeAmount']);
  });

  test('describes conditional requests of the auction, and the list of all notifications', () => {
    const auction = document.paths['/api/v1/auction']?.['get'];
    const headers = { ETag: expect.anything() };
    expect(auction).toMatchObject({ responses: { 200: { headers }, 304: { headers } } });
    const notifications = JSON.stringify(document.paths['/accounts/{account}/notifications']?.['get']);
    expect(notifications).toContain('Default: all notifications.');
  });

  test('has integers as the contract, and not numbers of any kind', () => {
    type Properties = Readonly<Record<string, object>>;
    // The format of the document.
    const { OrderCreation, OrderSimulationRequest, QuoteRequest } = document.components.schemas as {
      readonly OrderCreation?: { readonly properties: Properties };
      readonly OrderSimulationRequest?: { readonly properties: Properties };
      readonly QuoteRequest?: { readonly anyOf: readonly { readonly properties: Properties }[] };
    };
    const listTypes = (properties: Properties | undefined, names: readonly string[]) =>
      names.map((name) => JSON.stringify(properties?.[name]).match(/(?<=")(?:integer|number|null)(?=")/g));
    const nullable = ['integer', 'null'];
    for (const { properties } of [OrderCreation, OrderSimulationRequest].map((each) => ({ ...each }))) {
      expect(listTypes(properties, ['validTo', 'quoteId'])).toEqual([['integer'], nullable]);
    }
    const names = ['validTo', 'validFor', 'timeout', 'verificationGasLimit'];
    for (const { properties } of QuoteRequest?.anyOf ?? []) {
      expect(listTypes(properties, names)).toEqual(names.map(() => nullable));
    }
  });

  test('has examples of request bodies that the book accepts', async () => {
    const book = createOrderBook({ chainId: 11155111, store: memoryStore(), limits: { maxValidity: 1e9 } });
    await book.start();
    const api = createApi(book);
    const send = (method: string, path: string) => {
      const operation = document.paths[path]?.[method.toLowerCase()];
      const content = { 'application/json': { example: expect.anything() } };
      expect(operation).toMatchObject({ requestBody: { content } });
      const { requestBody } = operation as { requestBody: { content: { 'application/json': { example: unknown } } } };
      const value = requestBody.content['application/json'].example;
      const header = (name: string) => (name === 'content-type' ? 'application/json' : undefined);
      return api.handle({ method, path, query: '', header, body: { type: 'parsed', value } });
    };
    expect((await send('POST', '/api/v1/orders')).status).toBe(201);
    expect((await send('POST', '/api/v1/orders/by_uids')).status).toBe(200);
    expect((await send('PUT', '/api/v1/app_data')).status).toBe(201);
    // This book has no estimator, so a valid request is rejected for that reason.
    expect(await send('POST', '/api/v1/quote')).toMatchObject({
      body: expect.stringContaining('NoLiquidity'),
    });
    await book.close();
  });

  test('has no dangling reference', () => {
    const { schemas } = document.components;
    for (const [, name = ''] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      expect(schemas).toHaveProperty(name);
    }
  });
});

describe('generated types', () => {
  const file = join(folder, 'openapi.json');
  writeFileSync(file, JSON.stringify(document));

  test('openapi-typescript output matches the contract', () => {
    const cli = join(root, 'node_modules/openapi-typescript/bin/cli.js');
    execFileSync(process.execPath, [cli, file, '--output', join(folder, 'schema.d.ts')], { stdio: 'pipe' });
    writeFileSync(
      join(folder, 'use.ts'),
      `import type { components, paths } from './schema.js';
      type Order = components['schemas']['Order'];
      export const status = (order: Order): 'presignaturePending' | 'open' | 'fulfilled' | 'cancelled' | 'expired' => order.status;
      export const results: paths['/api/v1/orders/by_uids']['post']['responses'][200]['content']['application/json'] = [];
      // @ts-expect-error the kind is an enumeration
      export const kind: Order['kind'] = 'swap';
      // @ts-expect-error a route that is not there
      export type Nowhere = paths['/api/v1/nowhere'];
      `,
    );
  });

  test('swagger-typescript-api generates a complete client', async () => {
    const { generateApi } = await import('swagger-typescript-api');
    const { files } = await generateApi({ input: file, output: false, silent: true, httpClientType: 'fetch' });
    expect(files).not.toEqual([]);
    writeFileSync(
      join(folder, 'client.ts'),
      `${files.map(({ fileContent }) => fileContent).join('\n')}
      export const uids = (api: Api<unknown>, order: OrderCreation): Promise<string> =>
        api.api.postApiV1Orders(order).then(({ data }) => data);
      `,
    );
  });

  const [, recipe = ''] = /^```typescript\n([\s\S]*?)^```$/m.exec(readPage('docs/reference/http.md').text) ?? [];

  test('client of the page prints what the page states', async () => {
    const server = await serve({ port: 0, books: [{ chain: 'sepolia', path: '/', db: ':memory:' }] });
    writeFileSync(join(folder, 'recipe.ts'), recipe.replace('./intentbook.d.ts', './schema.d.ts'));
    writeFileSync(join(folder, 'run.ts'), recipe.replace('http://127.0.0.1:8080', server.url));
    const print = vi.spyOn(console, 'log').mockImplementation(() => {});
    await import(/* @vite-ignore */ join(folder, 'run.ts'));
    expect(print.mock.calls).toEqual([[200, 0], ['InvalidBody']]);
    print.mockRestore();
    await server.close();
  });

  test('client of the page has a call for every operation', () => {
    const calls = operations.map(({ method, path }) => `client.${method.toUpperCase()}('${path}', {} as never),`);
    expect(calls.length).toBeGreaterThan(60);
    writeFileSync(
      join(folder, 'every.ts'),
      `import createClient from 'openapi-fetch';
      import type { paths } from './schema.d.ts';
      const client = createClient<paths>({ baseUrl: '' });
      export const everyCall = () => [${calls.join('\n')}];
      // @ts-expect-error a route that is not there
      export const nowhere = () => client.GET('/api/v1/nowhere', {} as never);
      `,
    );
  });

  test('types of all generators compile', () => {
    const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
    const options = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--types', 'node', '--skipLibCheck'];
    const files = ['use.ts', 'client.ts', 'recipe.ts', 'every.ts'].map((name) => join(folder, name));
    const { status, stdout } = spawnSync(process.execPath, [tsc, '--noEmit', '--ignoreConfig', ...options, ...files]);
    expect([status, String(stdout)]).toEqual([0, '']);
  });
});

test('pages are not slow for a path of many slashes', async () => {
  const { handle, handlesPath } = openApiPages();
  // Quadratic time would exceed the timeout of the test.
  const path = `${'/'.repeat(1_000_000)}x`;
  expect(handlesPath?.(path)).toBe(false);
  const request = { method: 'GET', path, query: '', header: () => undefined, body: { type: 'none' } } as const;
  expect((await handle(request)).status).toBe(404);
  expect((await handle({ ...request, path: '/openapi.json//' })).status).toBe(200);
});

test('server serves the OpenAPI document and a page without external hosts', async () => {
  const server = await serve({ port: 0, books: [{ chain: 'base', db: ':memory:' }] });
  const served = (await (await fetch(`${server.url}/openapi.json`)).json()) as typeof document;
  expect(served).toEqual({ ...document, servers: [{ url: '/base', description: 'base, production' }] });
  expect(await (await fetch(server.url)).json()).toMatchObject({ docs: '/docs' });
  const page = await fetch(`${server.url}/docs//`);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self';");
  const html = await page.text();
  const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link);
  const files = links.filter((link) => !link.startsWith('data:'));
  expect(files).toHaveLength(5);
  for (const link of files) {
    expect(link).toMatch(/^(?:docs\/|openapi\.json)/);
    expect((await fetch(new URL(link, page.url))).status).toBe(200);
  }
  expect(html).not.toMatch(/<script>/);
  await server.close();
});
