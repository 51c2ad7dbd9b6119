/** Bytes as `0x` and hex digits. */
export type Hex = `0x${string}`;

/** A field of an EIP-712 type. */
export interface TypedDataField {
  readonly name: string;
  readonly type: string;
}

/** Parts of typed data (EIP-712), in the form that viem, ethers and `eth_signTypedData_v4` take. */
export interface TypedData<
  Types extends Readonly<Record<string, readonly TypedDataField[]>>,
  Primary extends keyof Types & string,
  Message extends object,
  Domain extends object = SigningDomain,
> {
  readonly domain: Domain;
  readonly types: Types;
  readonly primaryType: Primary;
  readonly message: Message;
}

/** The EIP-712 domain of subscriptions and affiliate codes. */
export interface AccountDomain {
  /** The name of the deployment. */
  readonly name: string;
  readonly version: '1';
}

/** The EIP-712 domain that orders and cancellations are signed under. */
export interface SigningDomain {
  readonly name: 'Gnosis Protocol';
  readonly version: 'v2';
  readonly chainId: number;
  /** The settlement contract. */
  readonly verifyingContract: Hex;
}
