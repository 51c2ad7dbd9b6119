import type { Hex } from 'viem';
import { encodeFunctionData, getCreate2Address, keccak256, zeroHash } from 'viem';
import { encodeDeployData } from 'viem/utils';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordWinner } from '../../scenarios/support/competition.ts';
import { encodeSettlement } from '../../scenarios/support/settlement.ts';
import { walletOrder } from '../../scenarios/support/wallet-order.ts';
import { createWorld, type World } from '../../scenarios/support/world.ts';
import { compileSolidity } from '../../support/solidity.ts';
import { LENDING } from './lending.ts';

const SOURCE = `${LENDING}
/// A debt with its collateral. The account that pays the debt for the owner may direct the collateral.
contract Position {
  Token immutable owed;
  Token immutable collateral;
  uint256 immutable debt;
  constructor(Token owed_, Token collateral_, uint256 debt_) { (owed, collateral, debt) = (owed_, collateral_, debt_); }
  function close(address payer, address to) external {
    owed.transferFrom(payer, address(this), debt);
    collateral.transfer(to, collateral.balanceOf(address(this)));
  }
}

/// A wallet of one key.
contract LoanWallet {
  address immutable signer;
  constructor(address signer_, Token sold, address relayer, Token bought, address position) {
    signer = signer_;
    sold.approve(relayer, type(uint256).max);
    bought.approve(position, type(uint256).max);
  }
  function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
    address by = ecrecover(digest, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
    return by == signer ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
  }
}

/// Receives the loan, deploys the wallet of the order and moves the loan to it.
contract LoanFactory {
  function deploy(address signer, Token sold, address relayer, Token bought, address position, uint256 amount) external {
    LoanWallet wallet = new LoanWallet{salt: bytes32(0)}(signer, sold, relayer, bought, position);
    require(sold.transfer(address(wallet), amount), "no loan");
  }
}
`;

type Name = 'Lender' | 'LoanRouter' | 'Position' | 'LoanWallet' | 'LoanFactory';

let world: World;

beforeAll(async () => {
  world = await createWorld();
}, 60_000);
afterAll(() => world.close());

test('flash loan: an order that closes a debt is accepted without funds, and settled with the loan of a lender', async () => {
  const contracts = compileSolidity(SOURCE);
  const contract = (name: Name) => {
    const found = contracts[name];
    if (found === undefined) throw new Error(`there is no contract ${name}`);
    return found;
  };
  const book = await world.serve();
  const [weth, usdc, { settlement, vaultRelayer }] = [world.token('WETH'), world.token('USDC'), world.contracts];
  const [amount, debt] = [10n ** 18n, BigInt(world.atoms('2000', 'USDC'))];
  const lender = await world.deploy(contract('Lender'));
  const router = await world.deploy(contract('LoanRouter'), [settlement]);
  const factory = await world.deploy(contract('LoanFactory'));
  const position = await world.deploy(contract('Position'), [usdc, weth, debt]);
  await world.allowSolver(router);
  await world.fund(lender, { WETH: '5' });
  await world.fund(position, { WETH: '1.001' }); // the loan and its fee
  const owner = await world.createTrader();
  const parts = [owner.address, weth, vaultRelayer, usdc, position] as const;
  const bytecode = encodeDeployData({ ...contract('LoanWallet'), args: parts });
  const wallet = getCreate2Address({ from: factory, salt: zeroHash, bytecodeHash: keccak256(bytecode) }).toLowerCase();

  const hook = (target: Hex, name: Name, functionName: string, args: readonly unknown[]) => ({
    target,
    callData: encodeFunctionData({ abi: contract(name).abi, functionName, args }),
    gasLimit: '1000000',
  });
  const hooks = {
    pre: [hook(factory, 'LoanFactory', 'deploy', [...parts, amount])],
    post: [hook(position, 'Position', 'close', [wallet, router])],
  };
  const loan = { liquidityProvider: lender, protocolAdapter: router, receiver: factory, token: weth };
  const flashloan = { ...loan, amount: String(amount) };
  const terms = { sellToken: weth, buyToken: usdc, sellAmount: String(amount), buyAmount: String(debt) };
  const submit = async (metadata: object) =>
    book.post('/orders', await walletOrder(owner, wallet as Hex, { ...terms, appData: JSON.stringify({ metadata }) }));

  // Without the loan, the hook cannot move the tokens, so there is no wallet.
  await book.rejects(submit({ hooks }), 400, 'InvalidEip1271Signature');
  const { status, body: uid } = await submit({ hooks, flashloan });
  expect([status, uid]).toEqual([201, expect.stringMatching(/^0x/)]);
  await book.untilListed(uid);

  const deadline = Number(await world.client.getBlockNumber()) + 100;
  const auctionId = await recordWinner(book, uid, router, deadline);
  await world.fund(settlement, { USDC: '2500' });
  const bought = BigInt(world.atoms('2400', 'USDC'));
  const data = encodeSettlement(await world.trades(book, [{ uid, sold: amount, bought }]), { auctionId });
  const { abi } = contract('LoanRouter');
  const args = [lender, weth, amount, factory, data];
  const txHash = await world.call(world.solver, router, abi, 'flashLoanAndSettle', args);

  expect((await book.untilStatus(uid, 'fulfilled')).executedBuyAmount).toBe(String(bought));
  const [trade] = (await book.get(`/trades?orderUid=${uid}`)).body;
  expect(trade).toMatchObject({ txHash, owner: wallet, sellAmount: String(amount) });
  const competition = await book.send('GET', `/api/v2/solver_competition/by_tx_hash/${txHash}`);
  expect(competition.body.auctionId).toBe(auctionId);
  expect(await world.balance(lender, 'WETH')).toBe(5n * 10n ** 18n + amount / 1000n);
  expect(await world.balance(wallet as Hex, 'USDC')).toBe(bought - debt);
  expect(await world.balance(wallet as Hex, 'WETH')).toBe(0n);
}, 60_000);
