import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type OpenApiDocument, openApiDocument } from 'intentbook/openapi';
import { type Answer, answer as createAnswer, type HttpFixture } from './http-fixture.ts';

/** Parts of the document that describe a response. */
interface Described {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}

type Schema = { readonly [key: string]: unknown };

/** Operations and statuses of the document that a response has covered. */
export const covered = new Set<string>();

const checkDefault = createResponseCheck(openApiDocument({ standalone: true }));

/**
 * A fixture that checks every response against the document: path, method, status, type and body. An object must not
 * have members that the document does not list.
 */
export function described(fixture: HttpFixture): HttpFixture {
  return {
    ...fixture,
    async send(method, target, sent) {
      const { status, header, text } = await fixture.send(method, target, sent);
      checkDefault(method, target.split('?')[0] ?? '', createAnswer(status, header, text));
      return createAnswer(status, header, text); // the test has not read its status yet
    },
  };
}

const ANY_ERROR = { $ref: '#/components/schemas/Error' };

/** Creates a function that throws if a response differs from a document. */
export function createResponseCheck(document: OpenApiDocument) {
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } });
  const components = exact(document.components as unknown as Schema); // plain JSON
  const validators = new Map<object, ReturnType<typeof ajv.compile>>();
  return checkResponse;

  function checkResponse(method: string, path: string, answer: Answer): void {
    if (method === 'OPTIONS') {
      assert.equal(answer.status, 204);
      return;
    }
    const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
    const [template, methods] = find(path) ?? ['nowhere', {}];
    const operation = methods[verb];
    const where = `${verb} ${template} ${answer.status}`;
    if (operation === undefined) {
      const status = template === 'nowhere' ? 404 : 405;
      assert.equal(answer.status, status, `${where} is not described: ${answer.text}`);
      if (method !== 'HEAD') conforms(ANY_ERROR, answer, where);
      return;
    }
    const response = operation.responses[answer.status] ?? operation.responses['default'];
    assert.ok(response, `${where} is not described: ${answer.text}`);
    covered.add(where);
    if (method === 'HEAD') return;
    const types = Object.entries(response.content ?? {});
    const answered = answer.header('content-type')?.split(';')[0];
    const [type, content] = types.find(([each]) => each === answered) ?? types[0] ?? ['', undefined];
    if (content === undefined) assert.equal(answer.text, '', where);
    else assert.equal(answered, type, where);
    if (content !== undefined && type === 'application/json') conforms(content.schema, answer, where);
  }

  function conforms(schema: object, answer: Answer, where: string): void {
    const validate = validatorOf(schema);
    assert.ok(validate(answer.json()), `${where}: ${ajv.errorsText(validate.errors)}\n${answer.text}`);
  }

  function find(path: string): [string, Readonly<Record<string, Described>>] | undefined {
    const requested = path.split('/').filter((segment) => segment !== '');
    const fits = Object.keys(document.paths).filter((template) => {
      const segments = template.split('/').filter((segment) => segment !== '');
      const same = segments.every((segment, i) => segment.startsWith('{') || segment === requested[i]);
      return segments.length === requested.length && same;
    });
    // A literal segment takes precedence over a parameter.
    const [best] = fits.sort((a, b) => (a.match(/\{/g)?.length ?? 0) - (b.match(/\{/g)?.length ?? 0));
    if (best === undefined) return undefined;
    return [best, document.paths[best] as Readonly<Record<string, Described>>]; // the format of the document
  }

  function validatorOf(schema: object) {
    const known = validators.get(schema);
    if (known !== undefined) return known;
    const validate = ajv.compile({ ...exact(schema as Schema), components });
    validators.set(schema, validate);
    return validate;
  }
}

/** Forbids additional members unless the document declares the object as open. */
function exact(schema: Schema): Schema {
  const inner = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inner);
    return typeof value === 'object' && value !== null ? exact(value as Schema) : value; // plain JSON
  };
  const members = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, inner(value)]));
  const closed = schema['type'] === 'object' && 'required' in schema && !('additionalProperties' in schema);
  return closed ? { ...members, additionalProperties: false } : members;
}
