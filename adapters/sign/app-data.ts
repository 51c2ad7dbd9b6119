import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { assertMembers, toChoice, toHex, toInteger, toText } from './checks.ts';
import type { Hex } from './types.ts';

/** A call that runs before or after the trade of an order. */
export interface OrderHook {
  readonly target: string;
  readonly callData: string;
  /** Units of gas that the call may use. */
  readonly gasLimit: number | bigint | string;
}

/** Contents of an app-data document. Every member is optional. */
export interface AppDataOptions {
  /** Name of the application that creates the order. */
  readonly appCode?: string;
  /** Environment of the application, such as `production`. */
  readonly environment?: string;
  readonly hooks?: { readonly pre?: readonly OrderHook[]; readonly post?: readonly OrderHook[] };
  /** Slippage that the order tolerates, in basis points. */
  readonly slippageBps?: number;
  /** Class that the application gives the order. It has no effect on how the order is handled. */
  readonly orderClass?: 'market' | 'limit' | 'liquidity' | 'twap';
  /** The address that signs, where the signature does not reveal it (`presign`, `eip1271`). */
  readonly signer?: string;
  /** UID of the open order that this order replaces, 56 bytes. */
  readonly replaces?: string;
  /** Further keys of `metadata`, added as they are. An option above takes precedence. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Version of the app-data schema that the documents follow. */
const SCHEMA_VERSION = '1.15.0';

/**
 * Creates an app-data document: the JSON text for the `appData` of an order. Keys are sorted, so that equal options
 * give equal text and an equal hash.
 *
 * ```ts
 * const appData = appDataDocument({ appCode: 'my-app', slippageBps: 50 });
 * ```
 *
 * @throws TypeError if an option is unknown or malformed.
 */
export function appDataDocument(options: AppDataOptions = {}): string {
  assertMembers('appDataDocument', options, OPTIONS);
  const { appCode, environment, hooks, slippageBps, orderClass, signer, replaces, metadata } = options;
  return stringify({
    ...(appCode !== undefined && { appCode: toText('appCode', appCode) }),
    ...(environment !== undefined && { environment: toText('environment', environment) }),
    version: SCHEMA_VERSION,
    metadata: {
      ...metadata,
      ...(hooks !== undefined && { hooks: hooksJson(hooks) }),
      ...(slippageBps !== undefined && { quote: { slippageBips: toInteger('slippageBps', slippageBps, 0, 10_000) } }),
      ...(orderClass !== undefined && { orderClass: { orderClass: toChoice('orderClass', orderClass, CLASSES) } }),
      ...(signer !== undefined && { signer: toHex('signer', signer, 20) }),
      ...(replaces !== undefined && { replacedOrder: { uid: toHex('replaces', replaces, 56) } }),
    },
  });
}

const OPTIONS = [
  'appCode',
  'environment',
  'hooks',
  'slippageBps',
  'orderClass',
  'signer',
  'replaces',
  'metadata',
] as const satisfies readonly (keyof AppDataOptions)[];

const CLASSES = ['market', 'limit', 'liquidity', 'twap'] as const;

function hooksJson(hooks: NonNullable<AppDataOptions['hooks']>): object {
  assertMembers('hooks', hooks, ['pre', 'post']);
  return { pre: hooks.pre?.map(hookJson), post: hooks.post?.map(hookJson) };
}

function hookJson(hook: OrderHook): object {
  assertMembers('hooks', hook, ['target', 'callData', 'gasLimit']);
  const { target, callData, gasLimit } = hook;
  if (!/^0x([0-9a-fA-F]{2})*$/.test(callData)) {
    throw new TypeError(`callData must be 0x and pairs of hex digits, got ${JSON.stringify(callData)}`);
  }
  if (!/^[0-9]+$/.test(String(gasLimit))) {
    throw new TypeError(`gasLimit must be a whole number of gas units, got ${JSON.stringify(String(gasLimit))}`);
  }
  return { target: toHex('target', target, 20), callData, gasLimit: String(gasLimit) };
}

/** Renders JSON with sorted keys and without members that are undefined. */
function stringify(value: unknown): string {
  const plain: unknown = JSON.parse(JSON.stringify(value)); // as `toJSON` of its values defines
  return render(plain);
}

/** Renders a JSON value. An object would begin with its keys that are integers, whatever their order. */
function render(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(render).join()}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${render(member)}`).join()}}`;
}

/**
 * Computes the hash of an app-data document: the keccak-256 of its UTF-8 bytes.
 *
 * @throws TypeError if the document is not a text, such as a parsed one.
 */
export function appDataHash(document: string): Hex {
  return `0x${bytesToHex(keccak_256(new TextEncoder().encode(toText('appData', document))))}`;
}
