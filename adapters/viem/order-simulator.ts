import type { Address, Hex, OrderSimulator, OrderToSimulate } from 'intentbook';
import { NATIVE_MARKER } from '#internal';
import { createBalanceSlots, toWord } from './balance-slots.ts';
import { ALLOW_ALL } from './call-sequence.ts';
import { getLoanOverride, joinOverrides, type StateOverrides } from './flashloan.ts';
import { callRpc, NodeError, parseQuantity, type RpcClient, requireClient, toQuantity } from './rpc.ts';
import type { BlockCall } from './settlement.ts';
import {
  createAuthorizations,
  createCall,
  encodeSingleSettlement,
  SETTLE_GAS,
  SOLVER,
  simulateBlock,
} from './settlement.ts';

/**
 * Creates a simulator of orders on a node (`eth_simulateV1`, or `eth_call` with state overrides). A solver settles the
 * order alone. An override of the state gives the settlement contract the bought tokens; signature, balance, allowance
 * and hooks of the owner are real.
 *
 * @param client - A `PublicClient`. Its transport controls retries.
 */
export function viemOrderSimulator(client: RpcClient): OrderSimulator {
  requireClient('viemOrderSimulator', client);
  const slots = createBalanceSlots(client);
  const authorize = createAuthorizations(client);

  /** Returns the override that gives the settlement contract the bought tokens. */
  async function fund(order: OrderToSimulate, signal: AbortSignal): Promise<StateOverrides> {
    const { settlementContract: holder, order: terms } = order;
    const amount = getBoughtAmount(order);
    if (terms.buyToken === NATIVE_MARKER) return { [holder]: { balance: toQuantity(amount) } };
    const slot = await slots.find(terms.buyToken, holder, signal);
    return slot === undefined ? {} : { [slot.contract]: { stateDiff: { [slot.key]: toWord(amount) } } };
  }

  /** Returns the reason of the revert; null if the settlement succeeds. */
  async function simulate(
    authorization: BlockCall,
    settle: BlockCall,
    stateOverrides: Readonly<Record<Address, object>>,
    block: string,
    signal: AbortSignal,
  ): Promise<string | null> {
    try {
      const results = await simulateBlock(client, [authorization, settle], stateOverrides, signal, block);
      const last = results.at(-1);
      return last?.success === true ? null : formatError(last?.error);
    } catch (error) {
      if (!(error instanceof NodeError && error.unsupported)) throw error;
    }
    const { from, to, input: data, gas } = settle;
    const overrides = { ...stateOverrides, [authorization.to]: { code: ALLOW_ALL } };
    try {
      await callRpc(client, signal, 'eth_call', [{ from, to, data, gas }, block, overrides]);
      return null;
    } catch (error) {
      if (error instanceof NodeError && /revert/i.test(error.message)) return formatError(error.message);
      throw error;
    }
  }

  return {
    async simulate(order, { signal }) {
      const { interactions: hooks, settlementContract } = order;
      try {
        const block = order.block ?? parseQuantity(await callRpc(client, signal, 'eth_blockNumber', []));
        const [authorization, stateOverrides] = await Promise.all([
          authorize(settlementContract, signal, { block: toQuantity(block) }),
          Promise.all([fund(order, signal), getLoanOverride(slots, order.flashloan, signal)]).then(([funds, loan]) =>
            joinOverrides(funds, loan),
          ),
        ]);
        const input = encodeSingleSettlement({ ...order, hooks, interactions: [] });
        const settle = createCall(SOLVER, settlementContract, input, SETTLE_GAS);
        const error = await simulate(authorization, settle, stateOverrides, toQuantity(block), signal);
        // Another simulator of this transaction needs a solver that is allowed as well.
        const overrides = { ...stateOverrides, [authorization.to]: { code: ALLOW_ALL } };
        const transaction = { from: SOLVER, to: settlementContract, input, gas: SETTLE_GAS };
        const settlement = { ...transaction, stateOverrides: overrides };
        return { status: 'simulated', block, error, settlement };
      } catch (error) {
        if (error instanceof NodeError && error.unsupported) return { status: 'unsupported' };
        throw error;
      }
    },
  };
}

/** Returns the amount that the settlement contract pays, in atoms of the buy token. */
function getBoughtAmount({ order, executed }: OrderToSimulate): bigint {
  if (order.kind === 'buy' || order.sellAmount === 0n) return order.kind === 'buy' ? executed : 0n;
  return (executed * order.buyAmount + order.sellAmount - 1n) / order.sellAmount;
}

/** Selector of `Error(string)`, with which contracts revert for a reason. */
const ERROR = '0x08c379a0';

/** Maximum length of an error. */
const MAX_LENGTH = 500;

function formatError(error: string | undefined): string {
  const reason = error?.startsWith(ERROR) ? decodeReason(error as Hex) : error; // hex of the node
  return reason === undefined || reason === '' ? 'the settlement reverts' : reason.slice(0, MAX_LENGTH);
}

/** Decodes the text of `Error(string)`. */
function decodeReason(data: Hex): string {
  const words = data.slice(10);
  const length = Math.min(Number.parseInt(words.slice(64, 128), 16), MAX_LENGTH);
  const digits = words.slice(128, 128 + 2 * length).match(/../g) ?? [];
  return new TextDecoder().decode(Uint8Array.from(digits, (pair) => Number.parseInt(pair, 16)));
}
