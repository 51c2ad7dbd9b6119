import { viemVaults } from 'intentbook/viem';
import { encodeDeployData, type Hex } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deploy } from '../../support/evm.ts';
import { compileSolidity } from '../../support/solidity.ts';
import type { Fixture } from './evm-fixture.ts';
import { startFixture } from './evm-fixture.ts';

const SOURCE = `
pragma solidity ^0.8.20;

/// A vault as far as its value goes (EIP-4626).
contract Vault {
  address public immutable asset;
  uint8 public immutable decimals;
  uint256 immutable rate;
  constructor(address asset_, uint8 decimals_, uint256 rate_) { (asset, decimals, rate) = (asset_, decimals_, rate_); }
  function convertToAssets(uint256 shares) external view returns (uint256) { return shares * rate / 10 ** decimals; }
}

/// Has an asset, and no value.
contract PartOfVault {
  address public immutable asset = address(1);
  uint8 public immutable decimals = 18;
}
`;

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const call = { signal: new AbortController().signal };
const lower = (address: string) => address.toLowerCase() as Hex; // equal digits

test('vaults: the node reads asset, decimals and value of a share, and other tokens are none', async () => {
  const contracts = compileSolidity(SOURCE);
  const create = async (name: 'Vault' | 'PartOfVault', args: readonly unknown[]) => {
    const { abi, bytecode } = contracts[name] ?? { abi: [], bytecode: '0x' as const };
    return lower(await deploy(fixture.client, encodeDeployData({ abi, bytecode, args })));
  };
  const asset = lower(fixture.sellToken);
  const vaults = viemVaults(fixture.client);
  const vault = await create('Vault', [asset, 18, 1_100_000n]);
  expect(await vaults.readShare(vault, call)).toEqual({ asset, assets: 1_100_000n, decimals: 18 });
  const others = [
    asset,
    lower(`0x${'77'.repeat(20)}`),
    await create('PartOfVault', []),
    await create('Vault', [asset, 18, 0n]),
    await create('Vault', [asset, 78, 1n]),
    await create('Vault', [`0x${'00'.repeat(20)}`, 18, 1n]),
  ];
  for (const token of others) expect(await vaults.readShare(token, call)).toBeUndefined();
  const offline = viemVaults({ request: () => Promise.reject(new Error('offline')) });
  await expect(offline.readShare(vault, call)).rejects.toThrow('eth_call');
  expect(() => viemVaults('http://127.0.0.1' as never)).toThrow('client must be a PublicClient of viem');
});
