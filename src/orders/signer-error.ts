import { OrderBookError } from '../errors.ts';
import { CHAINS, deployment, ENVIRONMENTS } from '../protocol/chains.ts';
import type { Domain } from '../protocol/eip712.ts';
import type { Address } from '../protocol/hex.ts';
import { createOrderHasher, type OrderData } from '../protocol/order.ts';
import type { EcdsaScheme, EcdsaSignature } from '../protocol/signature.ts';
import type { AdmissionContext } from './admission.ts';

/** The accounts of a wrong signature, as shown in a rejection. */
interface SignerData {
  readonly recovered: Address;
  readonly expected: Address;
}

/** An order whose signature contains its signer. */
interface SignedData {
  readonly data: OrderData;
  readonly signature: SchemeSignature;
}

type SchemeSignature = EcdsaSignature & { readonly scheme: EcdsaScheme };

/**
 * Creates the rejection of an order whose owner is not its signer. Names the domain that the owner has signed for, if
 * it is a known one.
 *
 * @param count - Number of orders that are submitted together. Only for a single one the domain is searched.
 */
export async function createSignerError(
  { data: order, signature }: SignedData,
  data: SignerData,
  context: Pick<AdmissionContext, 'verifier' | 'domain'>,
  count: number,
): Promise<OrderBookError> {
  const { recovered, expected } = data;
  const digest = (domain: Domain) => createOrderHasher(domain).digest(order);
  const found = count === 1 ? await findSignedDomain(expected, signature, digest, context) : undefined;
  const description = found ?? `the signature is by ${recovered}, not by ${expected}`;
  return new OrderBookError('InvalidSignature', description, { ...data }, 'signer');
}

/**
 * Searches the known chain or contract that an account has signed for. Recovers at most one key for each known chain,
 * and two more.
 *
 * @param digest - Returns the digest of the signed data in a domain.
 * @returns The reason of the rejection, or `undefined` if no known domain matches.
 */
export async function findSignedDomain(
  account: Address,
  signature: SchemeSignature,
  digest: (domain: Domain) => Uint8Array,
  { verifier, domain }: Pick<AdmissionContext, 'verifier' | 'domain'>,
): Promise<string | undefined> {
  const { chainId, verifyingContract } = domain;
  const contracts = ENVIRONMENTS.map((environment) => deployment(environment).settlement);
  const candidates: readonly Domain[] = [
    ...contracts.map((settlementContract) => ({ chainId, settlementContract })),
    ...CHAINS.map((chain) => ({ chainId: chain.chainId, settlementContract: deployment('production').settlement })),
  ].filter((each) => each.chainId !== chainId || each.settlementContract !== verifyingContract);
  const signers = await verifier.recoverDigests(
    candidates.map((each) => ({ digest: digest(each), scheme: signature.scheme, signature })),
  );
  const signed = candidates[signers.indexOf(account)];
  if (signed === undefined) return undefined;
  const describe = (chain: number, contract: Address) =>
    [
      ...(signed.chainId === chainId ? [] : [`chain ${chain}`]),
      ...(signed.settlementContract === verifyingContract ? [] : [`contract ${contract}`]),
    ].join(' and ');
  const theirs = describe(signed.chainId, signed.settlementContract);
  return `signed by ${account} for ${theirs}, this book is of ${describe(chainId, verifyingContract)}`;
}
