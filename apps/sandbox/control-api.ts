import { type Api, type ApiResponse, type Hex, OrderBookError } from 'intentbook';
import * as z from 'zod/mini';
import { jsonResponse, readJson } from '#internal';
import { describeSandbox } from './describe.ts';
import { FAULT_POINTS } from './faults.ts';
import type { Sandbox } from './sandbox-types.ts';

/** Maximum size of a request, in bytes. */
const BODY_LIMIT = 16_384;

const count = z.int().check(z.minimum(1));
const amount = z.union([z.string(), z.number()]);
const amounts = z.optional(z.record(z.string(), amount));
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
    z.strictObject({ uid: z.optional(z.string()), fill: z.optional(amount), fee: z.optional(z.string()) }),
    (sandbox, { uid, fill, fee }) =>
      sandbox.settle(uid as Hex | undefined, {
        ...(fill === undefined ? {} : { fill }),
        ...(fee === undefined ? {} : { fee }),
      }),
  ),
  pauseSolver: control(none, (sandbox) => sandbox.pauseSolver()),
  resumeSolver: control(none, (sandbox) => sandbox.resumeSolver()),
  setPrice: control(z.strictObject({ symbol: z.string(), price: amount }), (sandbox, { symbol, price }) =>
    sandbox.setPrice(symbol, price),
  ),
  freeze: control(
    z.strictObject({ symbol: z.string(), frozen: z.optional(z.boolean()) }),
    (sandbox, { symbol, frozen }) => sandbox.freeze(symbol, frozen),
  ),
  fund: control(
    z.strictObject({
      account: z.string().check(z.regex(/^0x[0-9a-fA-F]{40}$/)),
      amounts: z.record(z.string(), amount),
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
  revert: control(z.strictObject({ snapshot: z.string() }), (sandbox, { snapshot }) => sandbox.revert(snapshot)),
  fail: control(
    z.strictObject({ point: z.enum(FAULT_POINTS), times: z.optional(count) }),
    (sandbox, { point, times }) => sandbox.fail(point, times === undefined ? {} : { times }),
  ),
  stopNode: control(none, (sandbox) => sandbox.stopNode()),
  slowNode: control(z.strictObject({ ms: z.int().check(z.minimum(0)) }), (sandbox, { ms }) => sandbox.slowNode(ms)),
  restore: control(none, (sandbox) => sandbox.restore()),
  synchronize: control(none, (sandbox) => sandbox.synchronize()),
};

/** The names of the controls. */
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
    if (!parsed.success) return message(400, parsed.error.issues.map(formatIssue).join('; '));
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

function formatIssue({ path, message: text }: { readonly path: readonly PropertyKey[]; readonly message: string }) {
  return path.length === 0 ? text : `${path.join('.')}: ${text}`;
}

const message = (status: number, text: string): ApiResponse => jsonResponse(status, { message: text });
