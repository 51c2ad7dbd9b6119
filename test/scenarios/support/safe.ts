import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Abi, Hex, LocalAccount } from 'viem';
import { keccak256, toHex, zeroAddress } from 'viem';
import { sepolia } from 'viem/chains';
import type { OrderChoice } from '../../support/orders.ts';
import { SEPOLIA_DOMAIN } from '../../support/orders.ts';
import type { Amounts, World } from './world.ts';

const require = createRequire(import.meta.url);
const ARTIFACTS = join(dirname(require.resolve('@gnosis.pm/safe-contracts/package.json')), 'build/artifacts/contracts');

interface Artifact {
  readonly abi: Abi;
  readonly bytecode: Hex;
}

const artifact = (path: string): Artifact => require(join(ARTIFACTS, `${path}.json`));

/** An unsigned order of a Safe. */
type SafeOrder = Required<Pick<OrderChoice, 'sellToken' | 'buyToken' | 'sellAmount' | 'buyAmount' | 'appData'>> & {
  readonly receiver: Hex;
  readonly validTo: number;
  readonly feeAmount: string;
  readonly kind: 'sell' | 'buy';
  readonly partiallyFillable: boolean;
  readonly sellTokenBalance: string;
  readonly buyTokenBalance: string;
};

/** A Safe (version 1.3.0) with one owner. */
export interface Safe {
  readonly address: Hex;
  order(choice: OrderChoice): SafeOrder;
  /** Signs an order by EIP-1271: the owner signs the digest as a message of the Safe. */
  sign(
    order: SafeOrder,
    hash: (typedData: never) => Hex,
    types: object,
  ): Promise<SafeOrder & { readonly from: Hex; readonly signature: Hex; readonly signingScheme: 'eip1271' }>;
}

/** Deploys a Safe, funds it and approves the relayer. */
export async function createSafe(world: World, owner: LocalAccount, amounts: Amounts): Promise<Safe> {
  const singleton = artifact('GnosisSafe.sol/GnosisSafe');
  const fallback = await world.deploy(
    artifact('handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler'),
  );
  const proxy = artifact('proxies/GnosisSafeProxy.sol/GnosisSafeProxy');
  const address = await world.deploy(proxy, [await world.deploy(singleton)]);
  const setup = [[owner.address], 1n, zeroAddress, '0x', fallback, zeroAddress, 0n, zeroAddress];
  await world.call(world.solver, address, singleton.abi, 'setup', setup);
  await world.fund(address, { ETH: '1', ...amounts });
  for (const symbol of ['WETH', 'USDC', 'DAI', 'COW'] as const) await world.approve(address, symbol);
  return {
    address,
    order: (choice) => ({
      sellToken: '',
      buyToken: '',
      sellAmount: '0',
      buyAmount: '0',
      appData: '{}',
      receiver: address,
      validTo: Math.floor(Date.now() / 1000) + 3600,
      feeAmount: '0',
      kind: 'sell',
      partiallyFillable: false,
      sellTokenBalance: 'erc20',
      buyTokenBalance: 'erc20',
      ...(choice as object),
    }),
    async sign(order, hash, types) {
      const digest = hash({
        domain: {
          name: 'Gnosis Protocol',
          version: 'v2',
          chainId: SEPOLIA_DOMAIN.chainId,
          verifyingContract: SEPOLIA_DOMAIN.settlementContract,
        },
        types,
        primaryType: 'Order',
        message: { ...order, appData: keccak256(toHex(order.appData)) },
      } as never);
      const signature = await owner.signTypedData({
        domain: { chainId: sepolia.id, verifyingContract: address },
        types: { SafeMessage: [{ name: 'message', type: 'bytes' }] },
        primaryType: 'SafeMessage',
        message: { message: digest },
      });
      return { ...order, from: address, signature, signingScheme: 'eip1271' };
    },
  };
}
