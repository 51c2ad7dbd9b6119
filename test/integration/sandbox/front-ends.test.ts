import { createClient } from 'intentbook/client';
import { createSandbox, type Sandbox } from 'intentbook/sandbox';
import {
  createPublicClient,
  createWalletClient,
  erc20Abi,
  type Hex,
  hashStruct,
  http,
  parseAbi,
  parseSignature,
} from 'viem';
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

/** Permit2, as the front ends and the published package of its owner call it. */
describe('Permit2 of a sandbox', () => {
  const PERMIT2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3';
  const abi = parseAbi([
    'function allowance(address, address, address) view returns (uint160, uint48, uint48)',
    'function transferFrom(address from, address to, uint160 amount, address token)',
    'function permit(address owner, ((address token, uint160 amount, uint48 expiration, uint48 nonce) details, address spender, uint256 sigDeadline) permitSingle, bytes signature)',
    'function permit(address owner, ((address token, uint160 amount, uint48 expiration, uint48 nonce)[] details, address spender, uint256 sigDeadline) permitBatch, bytes signature)',
    'function permitTransferFrom(((address token, uint256 amount) permitted, uint256 nonce, uint256 deadline) permit, (address to, uint256 requestedAmount) transferDetails, address owner, bytes signature)',
    'function permitTransferFrom(((address token, uint256 amount)[] permitted, uint256 nonce, uint256 deadline) permit, (address to, uint256 requestedAmount)[] transferDetails, address owner, bytes signature)',
    'function permitWitnessTransferFrom(((address token, uint256 amount) permitted, uint256 nonce, uint256 deadline) permit, (address to, uint256 requestedAmount) transferDetails, address owner, bytes32 witness, string witnessTypeString, bytes signature)',
    'function permitWitnessTransferFrom(((address token, uint256 amount)[] permitted, uint256 nonce, uint256 deadline) permit, (address to, uint256 requestedAmount)[] transferDetails, address owner, bytes32 witness, string witnessTypeString, bytes signature)',
    'error InvalidNonce()',
    'error InvalidSigner()',
    'error SignatureExpired(uint256)',
    'error InsufficientAllowance(uint256)',
    'error InvalidAmount(uint256)',
  ]);
  const types = {
    PermitDetails: [
      { name: 'token', type: 'address' },
      { name: 'amount', type: 'uint160' },
      { name: 'expiration', type: 'uint48' },
      { name: 'nonce', type: 'uint48' },
    ],
    PermitSingle: [
      { name: 'details', type: 'PermitDetails' },
      { name: 'spender', type: 'address' },
      { name: 'sigDeadline', type: 'uint256' },
    ],
    PermitBatch: [
      { name: 'details', type: 'PermitDetails[]' },
      { name: 'spender', type: 'address' },
      { name: 'sigDeadline', type: 'uint256' },
    ],
    TokenPermissions: [
      { name: 'token', type: 'address' },
      { name: 'amount', type: 'uint256' },
    ],
    PermitTransferFrom: [
      { name: 'permitted', type: 'TokenPermissions' },
      { name: 'spender', type: 'address' },
      { name: 'nonce', type: 'uint256' },
      { name: 'deadline', type: 'uint256' },
    ],
    PermitBatchTransferFrom: [
      { name: 'permitted', type: 'TokenPermissions[]' },
      { name: 'spender', type: 'address' },
      { name: 'nonce', type: 'uint256' },
      { name: 'deadline', type: 'uint256' },
    ],
    Terms: [{ name: 'price', type: 'uint256' }],
    PermitWitnessTransferFrom: [
      { name: 'permitted', type: 'TokenPermissions' },
      { name: 'spender', type: 'address' },
      { name: 'nonce', type: 'uint256' },
      { name: 'deadline', type: 'uint256' },
      { name: 'terms', type: 'Terms' },
    ],
    PermitBatchWitnessTransferFrom: [
      { name: 'permitted', type: 'TokenPermissions[]' },
      { name: 'spender', type: 'address' },
      { name: 'nonce', type: 'uint256' },
      { name: 'deadline', type: 'uint256' },
      { name: 'terms', type: 'Terms' },
    ],
  } as const;
  const deadline = 4_000_000_000n;

  async function open() {
    const [owner, spender] = sandbox.accounts.map(({ privateKey }) => privateKeyToAccount(privateKey));
    if (owner === undefined || spender === undefined) throw new Error('a sandbox has accounts');
    const wallets = createWalletClient({ chain: sepolia, transport: http(sandbox.rpcUrl) });
    const token = sandbox.token('DAI').address;
    const domain = { name: 'Permit2', chainId: sandbox.chainId, verifyingContract: PERMIT2 } as const;
    const sign = (primaryType: keyof typeof types, message: object) =>
      owner.signTypedData({ domain, types, primaryType, message } as never);
    // Checked by a call before it is sent, so that a revert has its error.
    const send = async (functionName: string, ...args: readonly unknown[]) => {
      const call = { address: PERMIT2, abi, functionName, args, account: spender } as never;
      await connect().simulateContract(call);
      await connect().waitForTransactionReceipt({ hash: await wallets.writeContract(call) });
    };
    const approve = { address: token, abi: erc20Abi, functionName: 'approve' } as const;
    await wallets.writeContract({ ...approve, args: [PERMIT2, 2n ** 256n - 1n], account: owner });
    const balanceOf = (to: Hex) =>
      connect().readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [to] });
    return { owner, spender, token, sign, send, balanceOf };
  }

  it('grants allowances by a signature, once, and counts transfers', async () => {
    const { owner, spender, token, sign, send, balanceOf } = await open();
    const to = '0x00000000000000000000000000000000000000d2';
    const details = { token, amount: 5n, expiration: Number(deadline), nonce: 0 };
    const single = { details, spender: spender.address, sigDeadline: deadline };
    const signature = await sign('PermitSingle', single);
    await send('permit', owner.address, single, signature);
    await expect(send('permit', owner.address, single, signature)).rejects.toThrow('InvalidNonce');
    await send('transferFrom', owner.address, to, 3n, token);
    await expect(send('transferFrom', owner.address, to, 3n, token)).rejects.toThrow('InsufficientAllowance');
    const args = [owner.address, token, spender.address] as const;
    const read = () => connect().readContract({ address: PERMIT2, abi, functionName: 'allowance', args });
    expect([await balanceOf(to), await read()]).toEqual([3n, [2n, Number(deadline), 1]]);
    const batch = { details: [{ ...details, nonce: 1 }], spender: spender.address, sigDeadline: deadline };
    await send('permit', owner.address, batch, await sign('PermitBatch', batch));
    expect(await read()).toEqual([5n, Number(deadline), 2]);
  });

  it('transfers by a signature: one token, several, and with a witness', async () => {
    const { owner, spender, token, sign, send, balanceOf } = await open();
    const to = '0x00000000000000000000000000000000000000d3';
    const permitted = { token, amount: 10n };
    const transfer = { to, requestedAmount: 4n };
    const one = { permitted, nonce: 256n, deadline };
    const signature = await sign('PermitTransferFrom', { ...one, spender: spender.address });
    await expect(
      send('permitTransferFrom', one, { to, requestedAmount: 11n }, owner.address, signature),
    ).rejects.toThrow('InvalidAmount');
    await send('permitTransferFrom', one, transfer, owner.address, signature);
    await expect(send('permitTransferFrom', one, transfer, owner.address, signature)).rejects.toThrow('InvalidNonce');
    const late = { ...one, nonce: 1n, deadline: 1n };
    const expired = await sign('PermitTransferFrom', { ...late, spender: spender.address });
    await expect(send('permitTransferFrom', late, transfer, owner.address, expired)).rejects.toThrow(
      'SignatureExpired',
    );
    const batch = { permitted: [permitted, permitted], nonce: 2n, deadline };
    const batchSignature = await sign('PermitBatchTransferFrom', { ...batch, spender: spender.address });
    await send('permitTransferFrom', batch, [transfer, transfer], owner.address, batchSignature);
    const terms = { price: 7n };
    const signed = await sign('PermitWitnessTransferFrom', { ...one, nonce: 3n, spender: spender.address, terms });
    const witness = hashStruct({ data: terms, primaryType: 'Terms', types });
    const witnessType = 'Terms terms)Terms(uint256 price)TokenPermissions(address token,uint256 amount)';
    const rest = [owner.address, witness, witnessType, signed] as const;
    await send('permitWitnessTransferFrom', { ...one, nonce: 3n }, transfer, ...rest);
    const several = { ...batch, nonce: 5n };
    const severalSigned = await sign('PermitBatchWitnessTransferFrom', { ...several, spender: spender.address, terms });
    const severalRest = [owner.address, witness, witnessType, severalSigned] as const;
    await send('permitWitnessTransferFrom', several, [transfer, transfer], ...severalRest);
    const wrong = [owner.address, witness, witnessType, signature] as const;
    await expect(send('permitWitnessTransferFrom', { ...one, nonce: 4n }, transfer, ...wrong)).rejects.toThrow(
      'InvalidSigner',
    );
    expect(await balanceOf(to)).toBe(24n);
  });
});

function pickToken(symbol: string) {
  const { address, name, decimals } = sandbox.token(symbol);
  return { address, symbol, name, decimals };
}

/** Reads the balances of the events of a stream. */
async function* readBalances(response: Response): AsyncGenerator<Record<string, string>> {
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, data] = /^event: balance_update\ndata: (.*)$/.exec(block) ?? [];
      if (data !== undefined) yield JSON.parse(data).balances;
    }
  }
}

describe('services of a sandbox, for a front end', () => {
  it('lists notifications as the bell reads them', async () => {
    const trader = await sandbox.createTrader({ WETH: '1' });
    await trader.placeOrder({ sell: ['1', 'WETH'], for: ['2000', 'USDC'] });
    const { timestamp, message } = await sandbox.waitForNotification(trader, 'order_filled');
    const response = await fetch(`${sandbox.url}/notification-list/${trader.address}`);
    const list = (await response.json()) as { title: string; id: number }[];
    expect(list).toContainEqual({
      id: expect.any(Number),
      account: trader.address,
      title: 'Order filled',
      description: message,
      createdAt: timestamp,
      url: null,
      thumbnail: null,
    });
    expect(list.every(({ id }) => Number.isSafeInteger(id))).toBe(true);
    expect((await fetch(`${sandbox.url}/notification-list/0x12`)).status).toBe(400);
  });

  it('streams balances of a session: all of them, and then those that change', async () => {
    const trader = await sandbox.createTrader({ WETH: '1' });
    const weth = sandbox.token('WETH').address;
    const session = (method: string, body: object) =>
      fetch(`${sandbox.url}/${sandbox.chainId}/sessions/${trader.address}`, {
        method,
        headers: { 'content-type': 'application/json', 'x-client-id': 'test' },
        body: JSON.stringify(body),
      });
    const stream = `${sandbox.url}/sse/${sandbox.chainId}/balances/${trader.address}?client_id=test`;
    const tokens = { tokensListsUrls: ['https://example.com/list.json'], customTokens: [] };
    const missing = await fetch(stream);
    expect([missing.status, await missing.json()]).toMatchObject([404, { code: 404, message: expect.any(String) }]);
    expect((await session('PUT', tokens)).status).toBe(404);
    expect((await session('POST', { tokensListsUrls: [], customTokens: [] })).status).toBe(400);
    expect((await session('POST', { ...tokens, customTokens: ['WETH'] })).status).toBe(400);
    expect((await session('POST', tokens)).status).toBe(200);
    const response = await fetch(stream);
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const balances = readBalances(response);
    const { value: first } = await balances.next();
    await sandbox.fund(trader, { WETH: '2' });
    const { value: second } = await balances.next();
    await balances.return(undefined);
    expect(Object.keys(first ?? {})).toEqual(
      expect.arrayContaining([
        '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee',
        ...sandbox.tokens.map(({ address }) => address),
      ]),
    );
    expect(second).toEqual({ [weth]: String(3n * 10n ** 18n) });
  }, 20_000);

  it('serves the content that front ends read: the solver by name, and empty lists', async () => {
    const read = async (path: string) => {
      const response = await fetch(`${sandbox.url}${path}`);
      expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
      return response.json();
    };
    const query = 'filters[active][$eq]=true&populate[image][fields][0]=url&pagination[pageSize]=100';
    const { data: solvers } = (await read(`/solvers?${query}`)) as { data: { attributes: Record<string, unknown> }[] };
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['2000', 'USDC'] });
    await sandbox.waitFor(uid, 'fulfilled');
    const [trade] = await sandbox.book.trades.list({ orderUid: uid });
    const competition = await sandbox.book.auctions.competitionOfTransaction(trade?.txHash ?? '0x');
    const [winner] = competition?.solutions ?? [];
    expect(solvers).toHaveLength(1);
    expect(solvers[0]?.attributes).toMatchObject({
      displayName: 'Sandbox solver',
      solver_networks: {
        data: [
          {
            attributes: {
              active: true,
              address: winner?.solverAddress,
              network: { data: { attributes: { chainId: 11155111 } } },
              environment: { data: { attributes: { name: 'prod' } } },
            },
          },
        ],
      },
    });
    for (const path of ['announcements', 'correlated-tokens', 'restricted-token-lists']) {
      expect(await read(`/${path}`)).toMatchObject({ data: [], meta: { pagination: { total: 0 } } });
    }
    const { tokens } = (await read('/token-list.json')) as { tokens: object[] };
    expect(tokens).toContainEqual({ chainId: 11155111, ...pickToken('COW') });
    expect((await fetch(`${sandbox.url}/solvers`, { method: 'POST' })).status).toBe(405);
  });

  it('allows the headers that its requests have', async () => {
    const response = await fetch(`${sandbox.url}/1/sessions/0x`, { method: 'OPTIONS' });
    expect(response.headers.get('access-control-allow-headers')).toContain('X-Client-Id');
  });

  it('registers an affiliate code that is signed for the domain of production', async () => {
    const user = createClient(sandbox.url).account(firstAccount(), { domainName: 'CoW Swap Affiliate' });
    expect(await user.affiliate.register('sandbox')).toMatchObject({ code: 'SANDBOX' });
  });
});
