import { ERRORS, type ErrorCode } from '../../errors.ts';
import type { Profile } from '../../protocol/profile.ts';
import { CODE_DIFFERENCES, type CodeDifference } from '../../protocol/profile-codes.ts';
import { assertKnownOptions } from '../../validation/options.ts';
import { accountRoutes } from '../account-routes/index.ts';
import type { Endpoint } from '../route.ts';
import { ORDER_BOOK_ROUTES } from '../routes/index.ts';
import { PROBE_ROUTES } from '../routes/system.ts';
import { EXAMPLES } from './examples.ts';
import type { Operation, Success } from './operation.ts';
import { OPERATIONS } from './operations.ts';
import { componentSchemas, ref, type SchemaName } from './schemas.ts';

/** An OpenAPI document as plain JSON. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly ServerObject[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

/** Where an interface is served. */
export interface ServerObject {
  readonly url: string;
  readonly description?: string;
}

/** Options of the OpenAPI document. */
export interface OpenApiOptions {
  /** Base URLs of books, such as `[{ url: '/mainnet' }]`. Default: the root. */
  readonly servers?: readonly ServerObject[];
  /** Whether the document includes the account interface and the server probes, at the root. Default: false. */
  readonly standalone?: boolean;
  /** The profile of the codes. Default: `specification`. */
  readonly codes?: Profile;
}

/**
 * Creates the OpenAPI 3.1 document of the HTTP interface. It is generated from the routes, the schemas that they parse
 * with and the table of errors, so it always matches the served routes.
 */
export function openApiDocument(options: OpenApiOptions = {}): OpenApiDocument {
  assertKnownOptions('openApiDocument', options, ['servers', 'standalone', 'codes']);
  const { servers = [{ url: '/' }], standalone = false, codes = 'specification' } = options;
  const paths: Record<string, Record<string, object>> = {};
  const add = (route: Endpoint, more: object, rejections: Rejections) => {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    const at = paths[path] ?? {};
    at[route.method.toLowerCase()] = { ...toOperation(route, rejections), ...more };
    paths[path] = at;
  };
  const coded: Rejections = (route, operation) => codedRejections(route, operation, codes);
  for (const route of ORDER_BOOK_ROUTES) add(route, {}, coded);
  if (standalone) {
    const root = { servers: [{ url: '/' }] };
    for (const route of PROBE_ROUTES) add(route, root, coded);
    for (const route of accountRoutes()) add(route, root, messageRejections);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Order book',
      version: '0.0.1', // the version of the interface, which the contract fixes
      description: 'Signed trade intents: submitted, read, listed, cancelled and quoted.',
    },
    servers,
    paths,
    components: { schemas: componentSchemas() },
  };
}

/** Creates the content of a request body, with an example where there is one. */
function requestContent(name: SchemaName): object {
  const example = EXAMPLES[name];
  return { 'application/json': { schema: ref(name), ...(example === undefined ? {} : { example }) } };
}

/** Creates the rejection responses of a route. */
type Rejections = (route: Endpoint, operation: Operation | undefined) => Readonly<Record<string, object>>;

function toOperation(route: Endpoint, rejections: Rejections): object {
  const operation = OPERATIONS[`${route.method} ${route.path}`];
  const parameters = [...pathParameters(route), ...queryParameters(operation)];
  const successes = Object.entries(operation?.success ?? { 200: { description: 'Success.', body: undefined } });
  return {
    operationId: operationId(route),
    ...(operation && { summary: operation.summary, tags: [operation.tag] }),
    ...(parameters.length > 0 && { parameters }),
    ...(operation?.body && { requestBody: { required: true, content: requestContent(operation.body) } }),
    responses: {
      ...Object.fromEntries(successes.map(([status, success]) => [status, toSuccess(success)])),
      ...rejections(route, operation),
    },
  };
}

/** Returns an id such as `getApiV1OrdersByUid`. It depends on the route only, so it is stable. */
function operationId({ method, path }: Endpoint): string {
  const words = path.split(/[/_]/).filter((word) => word !== '');
  const name = words.map((word) => {
    const bare = word.replace(':', '');
    return `${word.startsWith(':') ? 'By' : ''}${bare.charAt(0).toUpperCase()}${bare.slice(1)}`;
  });
  return method.toLowerCase() + (name.join('') || 'Root');
}

function pathParameters({ path }: Endpoint): object[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    ...(PATH_PARAMETERS[name] && { description: PATH_PARAMETERS[name] }),
  }));
}

const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  uid: 'The UID of an order: 0x and 112 hex digits.',
  owner: 'An address: 0x and 40 hex digits.',
  user: 'An address: 0x and 40 hex digits.',
  account: 'An address: 0x and 40 hex digits.',
  address: 'An address: 0x and 40 hex digits.',
  code: 'An affiliate code: 5 to 20 letters, digits, "_" and "-".',
  token: 'The address of a token: 0x and 40 hex digits.',
  hash: 'A hash: 0x and 64 hex digits.',
  chainId: 'The id of a chain.',
  auction_id: 'The id of an auction: a whole number.',
};

function queryParameters(operation: Operation | undefined): object[] {
  return Object.entries(operation?.query ?? {}).map(([name, { type, description }]) => ({
    name,
    in: 'query',
    required: false,
    description,
    schema: { type },
  }));
}

function toSuccess({
  description,
  body,
  file,
  headers = [],
}: {
  description: string;
  body?: Success['body'] | undefined;
  file?: Success['file'] | undefined;
  headers?: readonly string[];
}) {
  return {
    description,
    ...(headers.length > 0 && {
      headers: Object.fromEntries(headers.map((name) => [name, { schema: { type: 'string' } }])),
    }),
    ...toContent(body, file),
  };
}

function toContent(body: Success['body'] | undefined, file?: Success['file']): { content?: object } {
  const described = toBodyContent(body);
  if (file === undefined) return described;
  return { content: { ...described.content, [file]: { schema: { type: 'string' } } } };
}

function toBodyContent(body: Success['body'] | undefined): { content?: object } {
  if (body === 'nothing') return {};
  if (body === undefined) return { content: json({}) };
  if (body === 'text') return { content: { 'text/plain': { schema: { type: 'string' } } } };
  if (body === 'page') return { content: { 'text/html': { schema: { type: 'string' } } } };
  if (body === 'events') return { content: { 'text/event-stream': { schema: { type: 'string' } } } };
  if (typeof body === 'string') return { content: json(ref(body)) };
  return { content: json({ type: 'array', items: ref(body[0]) }) };
}

function json(schema: object): object {
  return { 'application/json': { schema } };
}

/** Creates the rejections of the order book interface: for each status, its codes on this route. */
function codedRejections(
  route: Endpoint,
  operation: Operation | undefined,
  profile: Profile,
): Readonly<Record<string, object>> {
  const byStatus = listRouteCodes(route, operation, profile);
  return Object.fromEntries([...byStatus].map(([status, codes]) => [status, toRejectionResponse(codes)]));
}

/** Returns the codes of a route by status: its own, and those that its path, its body or any route can cause. */
export function listRouteCodes(
  route: Endpoint,
  operation: Operation | undefined,
  profile: Profile,
): ReadonlyMap<number, readonly ErrorCode[]> {
  const codes: ErrorCode[] = ['RateLimited', 'InternalServerError', ...(operation?.errors ?? [])];
  if (route.path.includes(':')) codes.push('InvalidParameter');
  if (operation?.body) codes.push('InvalidJson', 'InvalidBody', 'PayloadTooLarge', 'UnsupportedMediaType');
  const byStatus = new Map<number, ErrorCode[]>();
  const add = (status: number, code: ErrorCode) => byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  const different = profile === 'production' ? getDifferences(route) : [];
  for (const code of new Set(codes)) {
    if (!different.some((each) => each.code === code && (each.detail === undefined || each.isOnlyCase)))
      add(ERRORS[code].status, code);
  }
  for (const { production } of different) {
    if (byStatus.get(production.status)?.includes(production.code) !== true) add(production.status, production.code);
  }
  return byStatus;
}

/** Returns the rejections of a route that differ between the profiles. */
function getDifferences({ method, path }: Endpoint): readonly CodeDifference[] {
  return CODE_DIFFERENCES.filter(({ routes }) => routes.includes(`${method} ${path}`));
}

function toRejectionResponse(codes: readonly ErrorCode[]): object {
  const description = codes.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`).join('\n\n');
  const properties = { errorType: { enum: codes } };
  const coded = { type: 'object', properties, required: ['errorType'], additionalProperties: true };
  const schema = { allOf: [ref('Error'), coded] };
  const retryable = codes.some((code) => ERRORS[code].retryable);
  return {
    description,
    ...(retryable && { headers: { 'Retry-After': { description: 'Seconds.', schema: { type: 'string' } } } }),
    content: json(schema),
  };
}

/** Creates the rejection of the account interface: `{ message }`. */
function messageRejections(): Readonly<Record<string, object>> {
  return { default: { description: 'A rejection.', content: json(ref('Message')) } };
}
