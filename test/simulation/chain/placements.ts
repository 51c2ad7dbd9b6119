import { keccak_256 } from '@noble/hashes/sha3.js';
import type { Address, Hex } from 'intentbook';
import { orderTypedData, orderUid, signingDomain } from 'intentbook/sign';
import { bytesToHex } from '#internal';
import { START } from '../machine/process.ts';
import type { PoolOrder } from '../orders/pool-order.ts';
import { BUY_TOKEN, CHAIN_ID, SELL_TOKEN } from '../orders/pool-order.ts';

/** The contract that places orders of native currency, and owns them. */
export const PLACING_CONTRACT: Address = '0xba3cb449bd2b4adddbc894d8697f5170800eadec';

/** Such orders are signed with the maximum validity. The user's choice is part of the event. */
const SIGNED_VALIDITY = 0xffff_ffff;

/** Another contract, for which the first one places orders. It signs their validity. */
export const OWNING_CONTRACT: Address = `0x${'0c'.repeat(20)}`;

/** The orders of each user: their validities in seconds since the start, and their owners. */
const PLACEMENTS = [
  { validity: 120, owner: PLACING_CONTRACT },
  { validity: 3_000, owner: PLACING_CONTRACT },
  { validity: 100, owner: OWNING_CONTRACT },
] as const;

/** Returns the validity that is part of the UID of a placed order. */
export function getSignedValidity({ owner, validTo }: Pick<PoolOrder, 'owner' | 'validTo'>): number {
  return owner === PLACING_CONTRACT ? SIGNED_VALIDITY : validTo;
}

/** The hash of `OrderPlacement`. */
const PLACEMENT_TOPIC: Hex = '0xcf5f9de2984132265203b5c335b25727702ca77262ff622e136baa7362bf1da9';

/** The hash of `OrderInvalidation`. */
const INVALIDATION_TOPIC: Hex = '0xb8bad102ac8bbacfef31ff1c906ec6d951c230b4dce750bb0376b812ad35852a';

/** Creates the orders that users place on chain. Clients never submit them. */
export function createPlacedOrders(first: number, users: readonly Address[]): PoolOrder[] {
  return users.flatMap((user, signer) =>
    PLACEMENTS.map(({ validity, owner }, i): PoolOrder => {
      const [sellAmount, buyAmount] = [BigInt(12 + signer), BigInt(9 + i)];
      const validTo = START + validity;
      const typedData = createTypedData({
        user,
        sellAmount,
        buyAmount,
        validTo: getSignedValidity({ owner, validTo }),
      });
      return {
        index: first + signer * PLACEMENTS.length + i,
        uid: orderUid(typedData, owner),
        terms: typedData.message,
        owner,
        signer,
        kind: 'sell',
        sellAmount,
        buyAmount,
        validTo,
        validFrom: undefined,
        scheme: 'eip1271',
        quotaClass: 'open',
        replaces: undefined,
        rejection: undefined,
        code: undefined,
        placedBy: user,
        creation: undefined,
      };
    }),
  );
}

type Terms = Pick<PoolOrder, 'sellAmount' | 'buyAmount' | 'validTo'> & { readonly user: Address };

function createTypedData({ user, sellAmount, buyAmount, validTo }: Terms) {
  return orderTypedData(signingDomain({ chainId: CHAIN_ID }), {
    sellToken: SELL_TOKEN,
    buyToken: BUY_TOKEN,
    receiver: user,
    sellAmount: sellAmount.toString(),
    buyAmount: buyAmount.toString(),
    validTo,
    appData: '{}',
    feeAmount: '0',
    kind: 'sell',
    partiallyFillable: true,
  });
}

const word = (value: bigint | number) => value.toString(16).padStart(64, '0');
const encodeAddress = (address: string) => address.slice(2).padStart(64, '0');
const hashName = (name: string) => bytesToHex(keccak_256(new TextEncoder().encode(name))).slice(2);
const pad = (hex: string) => hex.padEnd(Math.ceil(hex.length / 64) * 64, '0');
const encodeBytes = (hex: string) => `${word(hex.length / 2)}${pad(hex)}`;

/** Encodes `OrderPlacement(address indexed sender, Order order, Signature signature, bytes data)`. */
export function encodePlacement({ sellAmount, buyAmount, validTo, placedBy, owner }: PoolOrder) {
  const user = placedBy ?? '0x';
  const signed = getSignedValidity({ owner, validTo });
  const { appData } = createTypedData({ user, sellAmount, buyAmount, validTo: signed }).message;
  const order = [
    encodeAddress(SELL_TOKEN),
    encodeAddress(BUY_TOKEN),
    encodeAddress(user),
    word(sellAmount),
    word(buyAmount),
    word(signed),
    appData.slice(2),
    word(0),
    hashName('sell'),
    word(1),
    hashName('erc20'),
    hashName('erc20'),
  ];
  // The owner signs by EIP-1271: scheme 0, with its address as data.
  const signature = `${word(0)}${word(64)}${encodeBytes(owner.slice(2))}`;
  const extra = encodeBytes(`${'0'.repeat(16)}${validTo.toString(16).padStart(8, '0')}`);
  const [signatureAt, extraAt] = [14 * 32, 14 * 32 + signature.length / 2];
  const data: Hex = `0x${order.join('')}${word(signatureAt)}${word(extraAt)}${signature}${extra}`;
  const topics: Hex[] = [PLACEMENT_TOPIC, `0x${encodeAddress(user)}`];
  return { topics, data };
}

/** Encodes `OrderInvalidation(bytes orderUid)`. */
export function encodePlacedInvalidation({ uid }: PoolOrder) {
  const data: Hex = `0x${word(32)}${encodeBytes(uid.slice(2))}`;
  return { topics: [INVALIDATION_TOPIC], data };
}
