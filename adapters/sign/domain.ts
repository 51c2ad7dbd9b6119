import { assertObject, format, toHex, toInteger } from './checks.ts';
import type { SigningDomain } from './types.ts';

/** The settlement contract of the production deployment, the same on every chain of the protocol. */
const PRODUCTION = '0x9008d19f58aabd9ed0d60971565aa8510560ab41';

/**
 * The chain and the settlement contract that orders are signed for. An `OrderBook` and a `Sandbox` are such objects.
 */
export interface DomainOptions {
  /** The id of the chain (EIP-155). */
  readonly chainId: number;
  /** Default: the production contract, the same on every chain of the protocol. */
  readonly settlementContract?: string;
}

/**
 * Creates the EIP-712 domain that orders and cancellations are signed under.
 *
 * ```ts
 * const domain = signingDomain({ chainId: 11155111 });
 * ```
 *
 * @throws TypeError if a value is malformed.
 */
export function signingDomain(options: DomainOptions): SigningDomain {
  const { chainId, settlementContract = PRODUCTION } = assertObject('signingDomain', options, 'chainId');
  return {
    name: 'Gnosis Protocol',
    version: 'v2',
    chainId: toInteger('chainId', chainId, 1, Number.MAX_SAFE_INTEGER),
    verifyingContract: toHex('settlementContract', settlementContract, 20),
  };
}

/** @throws TypeError if a domain has no contract, such as a book. Wallets would sign for another domain. */
export function requireDomain(where: string, domain: SigningDomain): SigningDomain {
  if (typeof Object(domain).verifyingContract === 'string') return domain;
  throw new TypeError(`${where}: the domain must be that of signingDomain, got ${format(domain)}`);
}
