import { OrderBookError } from '../errors.ts';
import type { OrderSimulationOutcome, OrderToSimulate } from '../ports/order-simulator.ts';
import type { Address } from '../protocol/hex.ts';
import type { OrderData } from '../protocol/order.ts';
import type { getInteractions } from '../protocol/trampoline.ts';
import { readMetadata } from '../records/spending.ts';
import type { Order } from '../records/wire-order.ts';
import { assertKnownOptions } from '../validation/options.ts';
import type { AdmissionContext } from './admission.ts';
import type { UnverifiedOrder } from './authenticate.ts';

/** Options of a simulation. */
export interface SimulateOptions {
  /** The block after which the order is settled. Default: the newest. */
  readonly block?: number;
}

/** The result of a simulation. Rejections are returned. */
export type SimulateResult =
  | Extract<OrderSimulationOutcome, { status: 'simulated' }>
  /** `MethodNotAllowed` without a simulator, `ChainUnavailable`, or the code of a malformed order. */
  | { readonly status: 'rejected'; readonly error: OrderBookError };

type Context = Pick<AdmissionContext, 'remote' | 'domain' | 'hooksTrampoline' | 'simulator' | 'onFailure'>;

/**
 * Simulates the settlement of an order. A stored order is settled from its executed amounts on.
 *
 * @param target - A stored order, a parsed one that is not stored, or its rejection.
 * @param toInteractions - A function of the core. It is passed, so that this module shares no chunk with the core.
 */
export async function simulateOrder(
  target: Order | UnverifiedOrder | OrderBookError,
  options: SimulateOptions,
  { remote, domain, hooksTrampoline, simulator, onFailure }: Context,
  toInteractions: typeof getInteractions,
): Promise<SimulateResult> {
  assertKnownOptions('orders.simulate', options, ['block']);
  const { block } = options;
  if (target instanceof OrderBookError) return { status: 'rejected', error: target };
  if (!('uid' in target) && target.data.sellAmount === 0n) {
    const error = new OrderBookError('InvalidBody', 'sellAmount: must not be 0', { path: 'sellAmount' });
    return { status: 'rejected', error };
  }
  const order = 'uid' in target ? toSimulation(target) : fromCreation(target, hooksTrampoline, toInteractions);
  const request = { ...order, settlementContract: domain.verifyingContract, ...(block === undefined ? {} : { block }) };
  try {
    const outcome = simulator && (await remote.run('simulations', (signal) => simulator.simulate(request, { signal })));
    if (outcome?.status === 'simulated') return outcome;
  } catch (failure) {
    onFailure(failure);
    return { status: 'rejected', error: new OrderBookError('ChainUnavailable') };
  }
  return { status: 'rejected', error: new OrderBookError('MethodNotAllowed', 'this book cannot simulate orders') };
}

type Simulation = Omit<OrderToSimulate, 'settlementContract' | 'block'>;

function toSimulation(stored: Order): Simulation {
  const { owner, signingScheme, signature, interactions, executedSellAmountBeforeFees: sold } = stored;
  const order: OrderData = {
    ...stored,
    sellAmount: BigInt(stored.sellAmount),
    buyAmount: BigInt(stored.buyAmount),
    feeAmount: BigInt(stored.feeAmount),
  };
  const rest =
    order.kind === 'sell' ? order.sellAmount - BigInt(sold) : order.buyAmount - BigInt(stored.executedBuyAmount);
  // The interactions before the trade run once, with the first fill.
  const pre = sold === '0' ? interactions.pre : [];
  const executed = rest > 0n ? rest : 0n;
  const { flashloan } = readMetadata(stored.fullAppData);
  const calls = { pre, post: interactions.post };
  return { order, owner, signingScheme, signature, interactions: calls, flashloan, executed };
}

function fromCreation(
  { creation, data, document, expected, signature }: UnverifiedOrder,
  hooksTrampoline: Address,
  toInteractions: typeof getInteractions,
): Simulation {
  return {
    order: data,
    // The contract recovers the owner from an ECDSA signature.
    owner: expected ?? hooksTrampoline,
    signingScheme: creation.signingScheme,
    signature: signature.hex,
    interactions: toInteractions(document.content.hooks, hooksTrampoline),
    flashloan: document.content.flashloan,
    executed: data.kind === 'sell' ? data.sellAmount : data.buyAmount,
  };
}
