import { createClient } from 'intentbook/client';
import { createSandbox, type Sandbox } from 'intentbook/sandbox';
import { createPublicClient, erc20Abi, http, parseAbi, parseSignature } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { sepolia } from 'viem/chains';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await createSandbox();
});
afterAll(() => sandbox.close());

const connect = () => createPublicClient({ chain: sepolia, transport: http(sandbox.rpcUrl) });
const firstAccount = () => {
  const [account] = sandbox.accounts;
  if (account === undefined) throw new Error('a sandbox has accounts');
  return privateKeyToAccount(account.privateKey);
};

describe('chain of a sandbox, for a front end', () => {
  it('has Multicall3 at the address that wagmi and viem use', async () => {
    const account = firstAccount();
    const read = { abi: erc20Abi, functionName: 'balanceOf', args: [account.address] } as const;
    const contracts = sandbox.tokens.map(({ address }) => ({ ...read, address }));
    const missing = { ...read, address: account.address }; // an account without code
    const results = await connect().multicall({ contracts: [...contracts, missing] });
    expect(results.map(({ status }) => status)).toEqual([...contracts.map(() => 'success'), 'failure']);
    expect(results[0]?.result).toBe(10_000n * 10n ** 18n);
    await expect(connect().multicall({ contracts: [missing], allowFailure: false })).rejects.toThrow();
  });

  it.each([
    'function aggregate((address,bytes)[]) view returns (uint256, bytes[])',
    'function tryAggregate(bool, (address,bytes)[]) view returns ((bool,bytes)[])',
    'function blockAndAggregate((address,bytes)[]) view returns (uint256, bytes32, (bool,bytes)[])',
    'function aggregate3((address,bool,bytes)[]) view returns ((bool,bytes)[])',
    'function aggregate3Value((address,bool,uint256,bytes)[]) view returns ((bool,bytes)[])',
    'function getEthBalance(address) view returns (uint256)',
    'function getBlockNumber() view returns (uint256)',
    'function getCurrentBlockTimestamp() view returns (uint256)',
    'function getChainId() view returns (uint256)',
  ])('serves %s', async (signature) => {
    const abi = parseAbi([signature]);
    const [, name = '', inputs = ''] = /function (\w+)\((.*)\) view/.exec(signature) ?? [];
    const address = '0xcA11bde05977b3631167028862bE2a173976CA11';
    const args =
      inputs === 'address'
        ? [firstAccount().address]
        : inputs === ''
          ? []
          : inputs.startsWith('bool')
            ? [true, []]
            : [[]];
    await expect(connect().readContract({ abi, address, functionName: name, args } as never)).resolves.toBeDefined();
  });

  it('has the decimals and the name of USDC on Sepolia, and on mainnet those there', async () => {
    const { address, decimals, name } = sandbox.token('USDC');
    expect({ decimals, name }).toEqual({ decimals: 18, name: 'USDC (test)' });
    expect(await connect().readContract({ abi: erc20Abi, address, functionName: 'decimals' })).toBe(18);
    await using mainnet = await createSandbox({ chain: 'simulated', chainId: 1 });
    expect(mainnet.token('USDC')).toMatchObject({ decimals: 6, name: 'USD Coin' });
  });

  it('accepts a permit of a token (EIP-2612)', async () => {
    const account = firstAccount();
    const { address, name } = sandbox.token('USDC');
    const value = 5n;
    const message = { owner: account.address, spender: account.address, value, nonce: 0n, deadline: 4_000_000_000n };
    const signature = await account.signTypedData({
      domain: { name, version: '1', chainId: sandbox.chainId, verifyingContract: address },
      types: {
        Permit: [
          { name: 'owner', type: 'address' },
          { name: 'spender', type: 'address' },
          { name: 'value', type: 'uint256' },
          { name: 'nonce', type: 'uint256' },
          { name: 'deadline', type: 'uint256' },
        ],
      },
      primaryType: 'Permit',
      message,
    });
    const { r, s, v = 27n } = parseSignature(signature);
    const abi = parseAbi(['function permit(address,address,uint256,uint256,uint8,bytes32,bytes32)']);
    const args = [account.address, account.address, value, message.deadline, Number(v), r, s] as const;
    const call = connect().simulateContract({ abi, address, functionName: 'permit', args });
    await expect(call).resolves.toBeDefined();
  });
});

describe('services of a sandbox, for a front end', () => {
  it('registers an affiliate code that is signed for the domain of production', async () => {
    const user = createClient(sandbox.url).account(firstAccount(), { domainName: 'CoW Swap Affiliate' });
    expect(await user.affiliate.register('sandbox')).toMatchObject({ code: 'SANDBOX' });
  });
});
