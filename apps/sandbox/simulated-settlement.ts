import type { ProtocolEvent } from 'intentbook/chain-events';
import { getExecution, respectsLimit, type Solution } from 'intentbook/solver';
import { MAX_UINT256, NATIVE_MARKER } from '#internal';
import type { getContracts } from './deployment.ts';
import type { createSimulatedPools } from './simulated-pools.ts';
import type { ContractState } from './simulated-state.ts';

/** An event before it has its place on the chain. */
export type NewChainEvent = ProtocolEvent extends infer Event
  ? Event extends ProtocolEvent
    ? Omit<Event, 'blockNumber' | 'blockHash' | 'logIndex' | 'transactionHash' | 'timestamp'>
    : never
  : never;

/** The state that a settlement changes and needs. */
export interface SettlementState {
  readonly state: ContractState;
  readonly pools: ReturnType<typeof createSimulatedPools>;
  readonly contracts: ReturnType<typeof getContracts>;
  /** Time of the block, in seconds since 1970. */
  readonly time: number;
}

/**
 * Executes a settlement.
 *
 * @returns The events.
 * @throws RangeError with the reason why it reverts. The state is then undefined.
 */
export function executeSettlement(solution: Solution, context: SettlementState): NewChainEvent[] {
  const { state, pools, contracts, time } = context;
  const { ledger, filled, presigned, frozen } = state;
  const { settlement, solver, nativeFlow, wrappedNative } = contracts;
  const executions = solution.fills.map((fill) => {
    const { order } = fill;
    const { sold, bought } = getExecution(fill, solution.prices);
    const total = BigInt(order.kind === 'sell' ? order.sellAmount : order.buyAmount);
    const done = (filled.get(order.uid) ?? 0n) + fill.executed;
    if (order.validTo < time) throw new RangeError('GPv2: order expired');
    if (!respectsLimit(fill, solution.prices)) throw new RangeError('GPv2: limit price not respected');
    if (done > total) throw new RangeError('GPv2: order filled');
    if (order.signingScheme === 'presign' && !presigned.has(order.uid))
      throw new RangeError('GPv2: order not presigned');
    if (frozen.has(order.sellToken) || frozen.has(order.buyToken)) throw new RangeError('token is frozen');
    if (order.owner === nativeFlow) wrapAll(context);
    if (ledger.allowanceOf(order.owner, order.sellToken) < sold) throw new RangeError('insufficient allowance');
    ledger.transfer(order.sellToken, order.owner, settlement, sold);
    filled.set(order.uid, done);
    return { order, sold, bought };
  });
  for (const call of solution.interactions) {
    const swap = pools.execute(call);
    if (swap === undefined) continue; // native currency is unwrapped below
    ledger.setBalance(settlement, swap.sellToken, ledger.balanceOf(settlement, swap.sellToken) - swap.sold);
    ledger.setBalance(settlement, swap.buyToken, ledger.balanceOf(settlement, swap.buyToken) + swap.bought);
  }
  const trades = executions.map(({ order, sold, bought }): NewChainEvent => {
    const { uid: orderUid, owner, sellToken, buyToken } = order;
    const receiver = order.receiver ?? owner;
    if (buyToken === NATIVE_MARKER) {
      ledger.transfer(wrappedNative, settlement, wrappedNative, bought);
      ledger.setBalance(receiver, NATIVE_MARKER, ledger.balanceOf(receiver, NATIVE_MARKER) + bought);
    } else ledger.transfer(buyToken, settlement, receiver, bought);
    return {
      event: 'Trade',
      owner,
      sellToken,
      buyToken,
      sellAmount: sold,
      buyAmount: bought,
      feeAmount: 0n,
      orderUid,
    };
  });
  return [...trades, { event: 'Settlement', solver }];
}

/** Wraps the native currency of the native-currency-flow contract. */
function wrapAll({ state: { ledger }, contracts: { nativeFlow, wrappedNative } }: SettlementState): void {
  const amount = ledger.balanceOf(nativeFlow, NATIVE_MARKER);
  ledger.setBalance(nativeFlow, NATIVE_MARKER, 0n);
  ledger.setBalance(nativeFlow, wrappedNative, ledger.balanceOf(nativeFlow, wrappedNative) + amount);
  ledger.setAllowance(nativeFlow, wrappedNative, MAX_UINT256);
}
