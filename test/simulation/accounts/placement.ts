import { keccak_256 } from '@noble/hashes/sha3.js';
import type { Address, BlockRef, Hex } from 'intentbook';
import type { ProtocolEvent } from 'intentbook/chain-events';
import { orderTypedData, orderUid, signingDomain } from 'intentbook/sign';
import { bytesToHex, chainById } from '#internal';
import { CHAIN_ID } from '../orders/pool-order.ts';
import type { PlacedOrder } from './sentences.ts';

/** The wrapped native token, which such orders sell. */
export const WRAPPED: Address = chainById(CHAIN_ID)?.wrappedNative ?? '0x';
const CONTRACT: Address = '0xba3cb449bd2b4adddbc894d8697f5170800eadec';
/** Such orders are signed with the maximum validity. The trader's choice is part of the event. */
const SIGNED_VALIDITY = 0xffff_ffff;

const hashName = (name: string) => bytesToHex(keccak_256(new TextEncoder().encode(name)));

/** Creates an order of native currency that a contract places for a trader, and its event. */
export function createPlacement({
  block,
  timestamp,
  tx,
  ...order
}: Omit<PlacedOrder, 'uid'> & { readonly block: BlockRef; readonly timestamp: number; readonly tx: Hex }): {
  readonly order: PlacedOrder;
  readonly event: ProtocolEvent;
} {
  const { trader: receiver, kind, sellAmount, buyAmount, validTo } = order;
  const buyToken = order.buy.address;
  const typedData = orderTypedData(signingDomain({ chainId: CHAIN_ID }), {
    sellToken: WRAPPED,
    buyToken,
    receiver,
    sellAmount: String(sellAmount),
    buyAmount: String(buyAmount),
    validTo: SIGNED_VALIDITY,
    appData: '{}',
    feeAmount: '0',
    kind,
    partiallyFillable: true,
  });
  return {
    order: { ...order, uid: orderUid(typedData, CONTRACT) },
    event: {
      event: 'OrderPlacement',
      blockNumber: block.number,
      blockHash: block.hash,
      logIndex: 0,
      timestamp,
      transactionHash: tx,
      address: CONTRACT,
      sender: receiver,
      signature: { scheme: 0, data: CONTRACT },
      data: `0x${'0'.repeat(16)}${validTo.toString(16).padStart(8, '0')}`,
      order: {
        sellToken: WRAPPED,
        buyToken,
        receiver,
        sellAmount,
        buyAmount,
        feeAmount: 0n,
        validTo: SIGNED_VALIDITY,
        appData: typedData.message.appData,
        kind: hashName(kind),
        partiallyFillable: true,
        sellTokenBalance: hashName('erc20'),
        buyTokenBalance: hashName('erc20'),
      },
    },
  };
}
