import assert from 'node:assert/strict';
import type { Hex } from 'viem';
import { encodeFunctionData, parseSignature, stringToHex } from 'viem';
import { sepolia } from 'viem/chains';
import { contract } from './support/contracts.ts';
import type { Scenario } from './support/scenario.ts';
import { walletOrder } from './support/wallet-order.ts';
import type { World } from './support/world.ts';

interface Hook {
  readonly target: Hex;
  readonly callData: Hex;
  readonly gasLimit: string;
}

const documentOf = (pre: readonly Hook[], post: readonly Hook[] = []) =>
  JSON.stringify({ appCode: 'scenario', metadata: { hooks: { pre, post } } });

/**
 * Assertions of the original:
 * - hooks with more gas than the limit are `TooMuchGas`: held
 * - a permit in a hook replaces the allowance: held
 * - hooks cannot act for the settlement contract: held, their caller is the trampoline, and allowances are its own
 * - a Safe that a hook deploys trades: held, with another wallet
 * - the first hook of a partially filled order runs once, the last one with each part: held
 * - a quote is verified whose hook provides the funds: held in `test/unit/quotes/verification.test.ts`,
 *   with a scripted node
 */
export const scenario: Scenario = {
  shows: 'hooks allow a transfer, deploy a wallet, run outside of the settlement, and are limited in gas',
  async run(world) {
    const permit = await world.deploy(contract('PermitToken'));
    const counter = await world.deploy(contract('Counter'));
    const prices = { [permit]: { price: '1', decimals: 18 }, [world.token('WETH')]: { price: '1', decimals: 18 } };
    const book = await world.serve('--prices', world.file('prices.json', JSON.stringify(prices)));
    const count = (name: string): Hook => {
      const { abi } = contract('Counter');
      const args = [stringToHex(name, { size: 32 })];
      return {
        target: counter,
        callData: encodeFunctionData({ abi, functionName: 'increment', args }),
        gasLimit: '100000',
      };
    };
    const read = (functionName: string, args: readonly unknown[] = []) =>
      world.client.readContract({ address: counter, abi: contract('Counter').abi, functionName, args });
    const counted = (name: string) => read('counts', [stringToHex(name, { size: 32 })]);

    // A permit in a hook replaces the allowance. The hooks are called by the trampoline.
    const trader = await world.createTrader();
    await world.call(world.solver, permit, contract('PermitToken').abi, 'mint', [trader.address, 10n ** 18n]);
    const terms = {
      sellToken: permit,
      buyToken: world.token('WETH'),
      sellAmount: String(10n ** 18n),
      buyAmount: '1000',
    };
    await book.rejects(book.submit(trader, terms), 400, 'InsufficientAllowance');
    const hook = await permitHook(world, permit, trader);
    const approval = { abi: contract('PermitToken').abi, functionName: 'approve', args: [trader.address, 5n] } as const;
    const approve = { target: permit, callData: encodeFunctionData(approval), gasLimit: '100000' };
    const appData = documentOf([hook, approve], [count('after'), approve]);
    const permitted = await book.place(trader, { ...terms, appData });
    await book.untilListed(permitted);
    await world.settle(book, [{ uid: permitted }]);
    await book.untilStatus(permitted, 'fulfilled');
    assert.equal(await counted('after'), 1n);
    assert.equal(String(await read('caller')).toLowerCase(), world.contracts.hooksTrampoline);
    const { settlement, hooksTrampoline } = world.contracts;
    const query = { address: permit, abi: approval.abi, functionName: 'allowance' };
    const allowanceOf = (owner: Hex) => world.client.readContract({ ...query, args: [owner, trader.address] });
    assert.deepEqual([await allowanceOf(settlement), await allowanceOf(hooksTrampoline)], [0n, 5n]);

    // A wallet that a hook deploys.
    const owner = await world.createTrader();
    const factory = await world.deploy(contract('WalletFactory'));
    const args = [owner.address, world.token('WETH'), world.contracts.vaultRelayer];
    const { abi } = contract('WalletFactory');
    const wallet = (await world.client.readContract({ address: factory, abi, functionName: 'addressOf', args })) as Hex;
    await world.fund(wallet, { WETH: '1' });
    const create = {
      target: factory,
      callData: encodeFunctionData({ abi, functionName: 'create', args }),
      gasLimit: '900000',
    };
    const order = await walletOrder(owner, wallet, {
      sellToken: world.token('WETH'),
      buyToken: permit,
      sellAmount: String(10n ** 18n),
      buyAmount: '1',
      appData: documentOf([create]),
    });
    const { status, body } = await book.post('/orders', order);
    assert.equal(status, 201, JSON.stringify(body));
    await book.untilListed(body);
    await world.call(world.solver, permit, contract('PermitToken').abi, 'mint', [
      world.contracts.settlement,
      10n ** 18n,
    ]);
    await world.settle(book, [{ uid: body }]);
    await book.untilStatus(body, 'fulfilled');

    // Of an order that is filled in parts, the first hook runs once and the last one with each part.
    const seller = await world.createTrader({ WETH: '2' });
    const parts = await book.place(seller, {
      sellToken: world.token('WETH'),
      buyToken: permit,
      sellAmount: String(2n * 10n ** 18n),
      buyAmount: '2000',
      partiallyFillable: true,
      appData: documentOf([count('first')], [count('each')]),
    });
    const calls = async (when: string) =>
      ((await book.listed(parts))?.[when] as readonly unknown[] | undefined)?.length;
    await book.untilListed(parts);
    assert.deepEqual([await calls('preInteractions'), await calls('postInteractions')], [1, 1]);
    await world.settle(book, [{ uid: parts, sold: 10n ** 18n }]);
    await book.until(`/orders/${parts}`, ({ executedSellAmount }) => executedSellAmount === String(10n ** 18n));
    await book.until('/auction', ({ orders }) =>
      orders.some((each: { uid: string; executed: string }) => each.uid === parts && each.executed !== '0'),
    );
    assert.deepEqual([await calls('preInteractions'), await calls('postInteractions')], [0, 1]);

    // The gas of all hooks is limited.
    const greedy = { ...count('greedy'), gasLimit: '20000000' };
    const more = { sellToken: world.token('WETH'), buyToken: permit, sellAmount: '5', buyAmount: '1' };
    await book.rejects(book.submit(seller, { ...more, appData: documentOf([greedy]) }), 400, 'TooMuchGas');
  },
};

async function permitHook(world: World, token: Hex, owner: Awaited<ReturnType<World['createTrader']>>): Promise<Hook> {
  const deadline = BigInt(Math.floor(Date.now() / 1000) + 7200);
  const names = ['owner', 'spender'].map((name) => ({ name, type: 'address' }));
  const numbers = ['value', 'nonce', 'deadline'].map((name) => ({ name, type: 'uint256' }));
  const signature = await owner.signTypedData({
    domain: { name: 'Permit', version: '1', chainId: sepolia.id, verifyingContract: token },
    types: { Permit: [...names, ...numbers] },
    primaryType: 'Permit',
    message: { owner: owner.address, spender: world.contracts.vaultRelayer, value: 10n ** 18n, nonce: 0n, deadline },
  });
  const { r, s, yParity } = parseSignature(signature);
  const args = [owner.address, world.contracts.vaultRelayer, 10n ** 18n, deadline, 27 + yParity, r, s];
  const { abi } = contract('PermitToken');
  return { target: token, callData: encodeFunctionData({ abi, functionName: 'permit', args }), gasLimit: '200000' };
}
