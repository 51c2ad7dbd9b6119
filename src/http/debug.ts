import type { OrderCreation } from '../admission/creation.ts';
import type { SimulateResult } from '../orders/index.ts';
import { invalidParameter } from '../validation/options.ts';
import { createNotFoundError, createOrderReport } from './order-report.ts';
import { queryInteger } from './query.ts';
import type { Call } from './route.ts';

/** Returns the data of an order that explains why it is or is not settled. */
export async function reportOrder({ book, param, work }: Call): Promise<object> {
  return createOrderReport(book, param('uid'), work);
}

/** Simulates the settlement of a stored order. */
export async function simulateStoredOrder({ book, param, query }: Call): Promise<object> {
  const uid = param('uid');
  const block = queryInteger(query, 'block_number');
  const result = await book.orders.simulate(uid, block === undefined ? {} : { block });
  if (result === undefined) throw createNotFoundError(uid);
  return toResponse(result, book.chainId);
}

/** Simulates the settlement of an order that is not stored. */
export async function simulateNewOrder({ book, body }: Call): Promise<object> {
  const given = Object(body) as { readonly owner?: unknown; readonly from?: unknown; readonly blockNumber?: unknown };
  const block = parseBlock(given.blockNumber);
  const order = { ...given, from: given.owner ?? given.from } as unknown as OrderCreation; // `simulate` validates it
  const result = await book.orders.simulate(order, block === undefined ? {} : { block });
  if (result === undefined) throw new Error('an order that is not stored has no simulation');
  return toResponse(result, book.chainId);
}

function parseBlock(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw invalidParameter('blockNumber', 'must be the number of a block');
}

/** Converts a simulation to the response of production: the request that repeats it at Tenderly, and the error. */
function toResponse(result: SimulateResult, chainId: number): object {
  if (result.status === 'rejected') throw result.error;
  const { block, error, settlement } = result;
  const { from, to, input, gas, stateOverrides } = settlement;
  const request = {
    network_id: String(chainId),
    // The first transaction of the next block has the state of the simulated block.
    block_number: block + 1,
    transaction_index: 0,
    from,
    to,
    input,
    gas,
    simulation_type: 'full',
    save: true,
    save_if_fails: true,
    state_objects: Object.fromEntries(
      Object.entries(stateOverrides).map(([key, value]) => [key, toStateObject(value)]),
    ),
  };
  return { tenderly_request: request, error: formatError(error) };
}

/** Converts an override of JSON-RPC, whose changed slots are `stateDiff`. */
function toStateObject({ stateDiff, ...rest }: { readonly stateDiff?: object }): object {
  return stateDiff === undefined ? rest : { ...rest, storage: stateDiff };
}

/** Adds that the settlement reverts, unless the reason contains it. */
function formatError(error: string | null): string | null {
  return error === null || /reverted/i.test(error) ? error : `execution reverted: ${error}`;
}
