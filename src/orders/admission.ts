import type { ContractSignatures, Terms } from '../admission/checks.ts';
import type { ConvertCodes } from '../admission/convert-codes.ts';
import type { DocumentPolicy } from '../admission/documents.ts';
import type { Limits, OwnerLimitsTable, TokenPolicy } from '../admission/limits.ts';
import type { OrderQuoting } from '../admission/order-quoting.ts';
import type { CheckQueue, OrderPolicy } from '../admission/policy.ts';
import type { Relay } from '../admission/relay.ts';
import type { VerifiedOrder } from '../admission/verified-order.ts';
import type { AbortState, DeadlineLimiter } from '../concurrency/abort.ts';
import type { Lazy } from '../concurrency/lifecycle.ts';
import type { OrderBookError } from '../errors.ts';
import type { ChainClient } from '../ports/chain-client.ts';
import type { Clock } from '../ports/clock.ts';
import type { OrderSimulator } from '../ports/order-simulator.ts';
import type { Store } from '../ports/store.ts';
import type { SigningDomain } from '../protocol/eip712.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import type { Rules } from '../protocol/profile.ts';
import { isEcdsa } from '../protocol/signature.ts';
import type { Verifier } from '../verification/index.ts';
import type { SubmissionQueue } from './group-commit.ts';
import type { PendingOrders } from './pending-orders.ts';

export interface AdmissionContext {
  readonly verifier: Verifier;
  readonly domain: SigningDomain;
  /** The contract that runs hooks. */
  readonly hooksTrampoline: Address;
  readonly store: Store;
  readonly submissions: SubmissionQueue;
  /** The unsigned orders of clients. */
  readonly pending: Lazy<PendingOrders>;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly ownerLimits: OwnerLimitsTable;
  readonly tokens: TokenPolicy;
  readonly rules: Rules;
  readonly convertCodes: ConvertCodes;
  readonly documents: DocumentPolicy;
  readonly eip1271: ContractSignatures;
  readonly host: OrderPolicy;
  /** Whether the book quotes, so that an order without a quote id can still be matched to a quote. */
  readonly quoting: boolean;
  /** Quotes orders without a matching quote. `undefined`: such orders have no quote. */
  readonly orderQuoting: OrderQuoting | undefined;
  readonly chain: ChainClient | undefined;
  readonly simulator: OrderSimulator | undefined;
  /** Passes orders to the book behind this one. `undefined` without one. */
  readonly relay: Relay | undefined;
  /** The spender that owners approve for their sell tokens. */
  readonly vaultRelayer: Address;
  readonly remote: DeadlineLimiter;
  /** Timeout of one remote check, in milliseconds. */
  readonly checkTimeout: number;
  /** Reports the errors behind a rejection: why the chain or the host failed. */
  readonly onFailure: (failure: unknown) => void;
}

/** The UIDs of the orders that are submitted together. */
export type Batch = ReadonlySet<Hex>;

/** The origin of orders that are submitted together. */
export interface Submission {
  readonly batch: Batch;
  /** The client that sends the orders, if the interface knows it. */
  readonly client: string | undefined;
  /** Whether the client has disconnected. */
  readonly caller: AbortState | undefined;
}

/** A check that queries the store, the host or the chain. */
export type RemoteCheck = (
  candidate: VerifiedOrder,
  context: AdmissionContext,
  submission: Submission,
) => Promise<OrderBookError | undefined>;

/** Maximum number of checks that wait in the queue of an owner whose signature was recovered. */
const MAX_WAITING = 1000;

/** Maximum number of checks that wait in a queue of orders whose owner is only claimed. */
const MAX_WAITING_UNVERIFIED = 64;

/** Maximum wait for a free slot, as a multiple of the timeout of a check. */
const WAIT_FACTOR = 4;

/**
 * Returns the queue of an order's remote checks. Checks of a recovered owner wait for each other only. The owner of any
 * other order is a claim of its sender, so its checks wait for those of the same client. So an owner's orders never
 * wait for orders that a stranger has sent in the owner's name.
 */
export function getCheckQueue(
  { owner, creation }: Pick<Terms, 'owner' | 'creation'>,
  { checkTimeout }: Pick<AdmissionContext, 'checkTimeout'>,
  { client, caller }: Pick<Submission, 'client' | 'caller'>,
): CheckQueue {
  if (isEcdsa(creation.signingScheme)) {
    return { queue: `owner ${owner}`, caller, maxWaiting: MAX_WAITING, maxWait: WAIT_FACTOR * checkTimeout };
  }
  const queue = client === undefined ? `claimed ${owner}` : `client ${client}`;
  return { queue, caller, maxWaiting: MAX_WAITING_UNVERIFIED, maxWait: checkTimeout };
}
