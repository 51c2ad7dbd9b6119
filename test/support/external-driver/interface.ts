import type { Address, Hex } from 'viem';

// The types follow docs/extending/driver.md. The driver uses no code of the package.

/** A call before or after a trade, in the format of the interface. */
interface WireCall {
  readonly target: Address;
  readonly value: string;
  readonly callData: Hex;
}

/** An order of the body of `POST /solve`. */
export interface WireOrder {
  readonly uid: Hex;
  readonly owner: Address;
  readonly receiver: Address | null;
  readonly sellToken: Address;
  readonly buyToken: Address;
  readonly sellAmount: string;
  readonly buyAmount: string;
  readonly kind: 'sell' | 'buy';
  readonly validTo: number;
  readonly appData: Hex;
  readonly partiallyFillable: boolean;
  readonly executed: string;
  readonly preInteractions: readonly WireCall[];
  readonly postInteractions: readonly WireCall[];
  readonly sellTokenBalance: string;
  readonly buyTokenBalance: string;
  readonly signingScheme: 'eip712' | 'ethsign' | 'eip1271' | 'presign';
  readonly signature: Hex;
  readonly protocolFees: readonly { readonly volume?: { readonly factor: number } }[];
}

/** The body of `POST /solve`. */
export interface WireAuction {
  readonly id: string;
  readonly orders: readonly WireOrder[];
  readonly deadline: string;
}
