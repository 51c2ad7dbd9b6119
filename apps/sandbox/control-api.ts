import { type Api, type ApiResponse, type Hex, OrderBookError } from 'intentbook';
import * as z from 'zod/mini';
import { defined, formatUnknownName, jsonResponse, readJson } from '#internal';
import { describeSandbox } from './describe.ts';
import { FAULT_POINTS } from './faults.ts';
import type { Sandbox } from './sandbox-types.ts';

/** Maximum size of a request, in bytes. */
const BODY_LIMIT = 16_384;

/** Creates the error of a value, with the value. */
const expecting =
  (expected: string) =>
  ({ input }: { readonly input?: unknown }) =>
    `must be ${expected}, ${input === undefined ? 'it is missing' : `got ${JSON.stringify(input)}`}`;

const integer = (least: number) => {
  const error = expecting(`an integer from ${least} up`);
  return z.int({ error }).check(z.minimum(least, { error }));
};
const text = z.string({ error: expecting('a text') });
const count = integer(1);
const amount = z.union([z.string(), z.number()], { error: expecting('an amount of whole tokens, such as "1.5"') });
const amountsBySymbol = z.record(z.string(), amount, {
  error: expecting('amounts by symbol, such as { "WETH": "1" }'),
});
const amounts = z.optional(amountsBySymbol);
const none = z.strictObject({});

/** A control: the schema of its body, and its effect. An object that it returns is the response. */
interface Control<S extends z.ZodMiniType> {
  readonly schema: S;
  run(sandbox: Sandbox, body: z.output<S>): unknown;
}

const control = <S extends z.ZodMiniType>(schema: S, run: Control<S>['run']): Control<z.ZodMiniType> =>
  ({ schema, run }) as Control<z.ZodMiniType>; // `run` receives what `schema` has parsed

const CONTROLS: Readonly<Record<string, Control<z.ZodMiniType>>> = {
  settle: control(
    z.strictObject({ uid: z.optional(text), fill: z.optional(amount), fee: z.optional(text) }),
    (sandbox, { uid, ...options }) => sandbox.settle(uid as Hex | undefined, defined(options)),
  ),
  pauseSolver: control(none, (sandbox) => sandbox.pauseSolver()),
  resumeSolver: control(none, (sandbox) => sandbox.resumeSolver()),
  setPrice: control(z.strictObject({ symbol: text, price: amount }), (sandbox, { symbol, price }) =>
    sandbox.setPrice(symbol, price),
  ),
  freeze: control(
    z.strictObject({ symbol: text, frozen: z.optional(z.boolean({ error: expecting('true or false') })) }),
    (sandbox, { symbol, frozen }) => sandbox.freeze(symbol, frozen),
  ),
  fund: control(
    z.strictObject({
      account: text.check(z.regex(/^0x[0-9a-fA-F]{40}$/, { error: expecting('0x and 40 hex digits') })),
      amounts: amountsBySymbol,
    }),
    (sandbox, { account, amounts: added }) => sandbox.fund(account, added),
  ),
  createTrader: control(z.strictObject({ amounts }), async (sandbox, { amounts: given }) => {
    const { address, privateKey } = await sandbox.createTrader(given);
    return { address, privateKey };
  }),
  createSmartWallet: control(z.strictObject({ amounts }), async (sandbox, { amounts: given }) => {
    const { address, privateKey } = await sandbox.createSmartWallet(given);
    return { address, privateKey };
  }),
  advance: control(z.strictObject({ seconds: count }), (sandbox, { seconds }) => sandbox.advance(seconds)),
  mine: control(z.strictObject({ blocks: z.optional(count) }), (sandbox, { blocks }) => sandbox.mine(blocks)),
  reorg: control(z.strictObject({ depth: z.optional(count) }), (sandbox, { depth }) => sandbox.reorg(depth)),
  snapshot: control(none, async (sandbox) => ({ snapshot: await sandbox.snapshot() })),
  revert: control(z.strictObject({ snapshot: text }), (sandbox, { snapshot }) => sandbox.revert(snapshot)),
  fail: control(
    z.strictObject({
      point: z.enum(FAULT_POINTS, { error: expecting(`one of ${FAULT_POINTS.join(', ')}`) }),
      times: z.optional(count),
    }),
    (sandbox, { point, times }) => sandbox.fail(point, defined({ times })),
  ),
  stopNode: control(none, (sandbox) => sandbox.stopNode()),
  slowNode: control(z.strictObject({ ms: integer(0) }), (sandbox, { ms }) => sandbox.slowNode(ms)),
  restore: control(none, (sandbox) => sandbox.restore()),
  synchronize: control(none, (sandbox) => sandbox.synchronize()),
};

export const CONTROL_NAMES: readonly string[] = Object.keys(CONTROLS);

/**
 * Creates the HTTP interface of the controls, for clients in other languages. It is served at `/sandbox`.
 *
 * - `GET /` describes the sandbox, as `intentbook sandbox --json`.
 * - `POST /<control>` takes the arguments as a JSON object; `{}` or an empty body without arguments. It responds 200
 *   after the effect, 400 `{ message }` for invalid arguments, 409 `{ message }` if the control has failed.
 */
export function createControlApi(getSandbox: () => Sandbox): Api {
  async function respond(method: string, path: string, readBody: () => Promise<unknown>): Promise<ApiResponse> {
    const name = path
      .split('/')
      .filter((segment) => segment !== '')
      .join('/');
    if (name === '' && method === 'GET') return jsonResponse(200, describeSandbox(getSandbox()));
    const found = Object.hasOwn(CONTROLS, name) ? CONTROLS[name] : undefined;
    if (found === undefined) return message(404, `a control must be one of ${CONTROL_NAMES.join(', ')}, got "${name}"`);
    if (method !== 'POST') return message(405, `${name} requires POST, got ${method}`);
    const parsed = found.schema.safeParse(await readBody());
    if (!parsed.success) {
      const members = Object.keys((found.schema as z.ZodMiniObject)._zod.def.shape); // every schema is one of an object
      return message(400, parsed.error.issues.map((issue) => formatIssue(issue, members)).join('; '));
    }
    const result = await found.run(getSandbox(), parsed.data);
    return jsonResponse(200, result ?? {});
  }

  return {
    async handle(request) {
      const { method, path, body } = request;
      const readBody = async () =>
        body.type === 'none' || (await isEmpty(request)) ? {} : readJson(request, { limit: BODY_LIMIT });
      try {
        return await respond(method, path, readBody);
      } catch (error) {
        const status = error instanceof OrderBookError ? error.status : error instanceof TypeError ? 400 : 409;
        return message(status, error instanceof Error ? error.message : String(error));
      }
    },
  };
}

/** Returns whether a request declares an empty body. */
async function isEmpty(request: Parameters<Api['handle']>[0]): Promise<boolean> {
  return (request.header('content-length') ?? '0') === '0' && request.header('transfer-encoding') === undefined;
}

/** @param members - The members of the body, for an unknown one. */
function formatIssue({ code, path, message: reason, ...issue }: z.core.$ZodIssue, members: readonly string[]): string {
  if (path.length > 0) return `${path.join('.')} ${reason}`;
  if (code !== 'unrecognized_keys') return `the body must be a JSON object with ${members.join(', ') || 'no members'}`;
  const { keys } = issue as z.core.$ZodIssueUnrecognizedKeys;
  const known = members.length === 0 ? 'it has no members' : `use ${members.join(', ')}`;
  return keys.map((key) => `${formatUnknownName('member', key, members)}; ${known}`).join('; ');
}

const message = (status: number, text: string): ApiResponse => jsonResponse(status, { message: text });
