import { createPublicClient, http } from 'viem';
import { sepolia } from 'viem/chains';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recordWinner } from '../../scenarios/support/competition.ts';
import { encodeSettlement } from '../../scenarios/support/settlement.ts';
import { createWorld, type World } from '../../scenarios/support/world.ts';
import { SEPOLIA } from '../../support/orders.ts';
import { FLASH_LOAN_PACKAGES, installPackages } from '../../support/published-packages.ts';
import { compileSolidity } from '../../support/solidity.ts';
import { LENDING } from './lending.ts';

/** A market, its factory of adapters, and an adapter with the interfaces that the package calls. */
const SOURCE = `${LENDING}
struct HookData {
  address owner; address receiver; address sellToken; address buyToken; uint256 sellAmount; uint256 buyAmount;
  bytes32 kind; uint256 validTo; uint256 flashLoanAmount; uint256 flashLoanFeeAmount;
  uint256 hookSellTokenAmount; uint256 hookBuyTokenAmount;
}
struct Order {
  address sellToken; address buyToken; address receiver; uint256 sellAmount; uint256 buyAmount; uint32 validTo;
  bytes32 appData; uint256 feeAmount; bytes32 kind; bool partiallyFillable; bytes32 sellBalance; bytes32 buyBalance;
}
struct Permit { uint256 amount; uint256 deadline; uint8 v; bytes32 r; bytes32 s; }
interface Settlement { function domainSeparator() external view returns (bytes32); }

/// Collateral of one asset. Its shares are tokens.
contract Market {
  Token immutable asset;
  mapping(address => uint256) public balanceOf;
  mapping(address => mapping(address => uint256)) public allowance;
  constructor(Token asset_, address owner, uint256 amount) { asset = asset_; balanceOf[owner] = amount; }
  function approve(address spender, uint256 amount) external returns (bool) {
    allowance[msg.sender][spender] = amount;
    return true;
  }
  function transferFrom(address from, address to, uint256 amount) external returns (bool) {
    allowance[from][msg.sender] -= amount;
    balanceOf[from] -= amount;
    balanceOf[to] += amount;
    return true;
  }
  function redeem(uint256 amount) external {
    balanceOf[msg.sender] -= amount;
    asset.transfer(msg.sender, amount);
  }
}

/// The wallet of one order. It repays the loan from the collateral of the owner, who receives the bought tokens.
contract Adapter {
  Factory immutable factory;
  HookData data;
  constructor(HookData memory data_) { factory = Factory(msg.sender); data = data_; }
  function approveRelayer(address relayer) external {
    require(msg.sender == address(factory), "not the factory");
    Token(data.sellToken).approve(relayer, type(uint256).max);
  }
  function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
    (Order memory order, bytes memory ecdsa) = abi.decode(signature, (Order, bytes));
    bytes32 orderType = keccak256("Order(address sellToken,address buyToken,address receiver,uint256 sellAmount,uint256 buyAmount,uint32 validTo,bytes32 appData,uint256 feeAmount,string kind,bool partiallyFillable,string sellTokenBalance,string buyTokenBalance)");
    bytes32 hash = keccak256(abi.encode(orderType, order));
    if (keccak256(abi.encodePacked(hex"1901", factory.settlement().domainSeparator(), hash)) != digest) return 0xffffffff;
    bytes32 signed = keccak256(abi.encode(
      keccak256("AdapterOrderSig(address instance,address sellToken,address buyToken,uint256 sellAmount,uint256 buyAmount,bytes32 kind,uint32 validTo,bytes32 appData)"),
      address(this), order.sellToken, order.buyToken, order.sellAmount, order.buyAmount, order.kind, order.validTo, order.appData
    ));
    bytes32 message = keccak256(abi.encodePacked(hex"1901", factory.DOMAIN_SEPARATOR(), signed));
    bytes32 r; bytes32 s; uint8 v;
    assembly { r := mload(add(ecdsa, 32)) s := mload(add(ecdsa, 64)) v := byte(0, mload(add(ecdsa, 96))) }
    return ecrecover(message, v, r, s) == data.owner ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
  }
  function collateralSwapWithFlashLoan(Permit calldata) external {
    Market market = factory.market();
    market.transferFrom(data.owner, address(this), data.flashLoanAmount);
    market.redeem(data.flashLoanAmount);
    Token(data.sellToken).transfer(factory.router(), data.flashLoanAmount + data.flashLoanFeeAmount);
    Token(data.buyToken).transfer(data.owner, Token(data.buyToken).balanceOf(address(this)));
  }
}

/// Receives the loan, deploys the adapter of an order and moves the loan to it.
contract Factory {
  Settlement public immutable settlement;
  Market public immutable market;
  address public immutable router;
  address immutable relayer;
  constructor(Settlement settlement_, Market market_, address router_, address relayer_) {
    (settlement, market, router, relayer) = (settlement_, market_, router_, relayer_);
  }
  function DOMAIN_SEPARATOR() external view returns (bytes32) {
    bytes32 domainType = keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    return keccak256(abi.encode(domainType, keccak256("AaveV3AdapterFactory"), keccak256("1"), block.chainid, address(this)));
  }
  function getInstanceDeterministicAddress(address, HookData memory data) external view returns (address) {
    data.receiver = address(0);
    bytes32 code = keccak256(abi.encodePacked(type(Adapter).creationCode, abi.encode(data)));
    return address(uint160(uint256(keccak256(abi.encodePacked(hex"ff", address(this), bytes32(0), code)))));
  }
  function deployAndTransferFlashLoan(address, HookData memory data) external {
    address receiver = data.receiver;
    data.receiver = address(0);
    Adapter adapter = new Adapter{salt: bytes32(0)}(data);
    require(address(adapter) == receiver, "another adapter");
    adapter.approveRelayer(relayer);
    require(Token(data.sellToken).transfer(address(adapter), data.flashLoanAmount), "no loan");
  }
}
`;

/** The package. */
interface FlashLoans {
  readonly AaveCollateralSwapSdk: new (
    config: object,
  ) => {
    collateralSwap(parameters: object, sdk: unknown): Promise<{ readonly orderId: `0x${string}` }>;
  };
}

let world: World;
let packages: Awaited<ReturnType<typeof installPackages<FlashLoans>>>;
beforeAll(async () => {
  packages = await installPackages(FLASH_LOAN_PACKAGES);
  world = await createWorld();
}, 400_000);
afterAll(() => world?.close());

describe('sdk-flash-loans', () => {
  test('a swap of collateral is accepted without funds, and settled with a loan', async ({ skip }) => {
    if (packages === undefined) return skip('the packages cannot be installed');
    const contracts = compileSolidity(SOURCE);
    const contract = (name: string) => {
      const found = contracts[name];
      if (found === undefined) throw new Error(`there is no contract ${name}`);
      return found;
    };
    const book = await world.serve();
    const [weth, usdc, { settlement, vaultRelayer }] = [world.token('WETH'), world.token('USDC'), world.contracts];
    const amount = 10n ** 18n;
    const trader = await world.createTrader();
    const lender = await world.deploy(contract('Lender'));
    const router = await world.deploy(contract('LoanRouter'), [settlement]);
    const market = await world.deploy(contract('Market'), [weth, trader.address, amount]);
    const factory = await world.deploy(contract('Factory'), [settlement, market, router, vaultRelayer]);
    await world.allowSolver(router);
    await world.fund(lender, { WETH: '5' });
    await world.fund(market, { WETH: '1' });

    const provider = createPublicClient({ chain: sepolia, transport: http(world.rpcUrl) });
    const adapter = new packages.ViemAdapter({ provider, signer: trader });
    packages.setGlobalAdapter(adapter);
    const orderBookApi = new packages.OrderBookApi({
      chainId: SEPOLIA,
      baseUrls: { [SEPOLIA]: book.url },
      backoffOpts: { numOfAttempts: 1 },
    });
    const trading = new packages.TradingSdk(
      { chainId: SEPOLIA, appCode: 'tests', signer: trader },
      { orderBookApi },
      adapter,
    );
    const loans = new packages.AaveCollateralSwapSdk({
      aaveAdapterFactory: { [SEPOLIA]: factory },
      aavePoolAddress: { [SEPOLIA]: lender },
      hookAdapterPerType: { CollateralSwap: { [SEPOLIA]: factory } },
      hooksGasLimit: { pre: 3_000_000n, post: 1_000_000n },
    });
    const tokens = { sellToken: weth, sellTokenDecimals: 18, buyToken: usdc, buyTokenDecimals: 18 };
    const tradeParameters = { kind: 'sell', ...tokens, amount: String(amount) };
    const parameters = { chainId: SEPOLIA, tradeParameters, collateralToken: market, flashLoanFeePercent: 0.1 };
    const { orderId: uid } = await loans.collateralSwap(parameters, trading);

    await book.untilListed(uid);
    const { owner, sellAmount, buyAmount } = await book.order(uid);
    // The fee of the loan and the network costs of the quote are deducted.
    const kept = amount - amount / 1000n - BigInt(sellAmount);
    expect(kept).toBeGreaterThan(0n);
    const deadline = Number(await world.client.getBlockNumber()) + 100;
    const auctionId = await recordWinner(book, uid, router, deadline);
    const bought = BigInt(buyAmount);
    await world.fund(settlement, { USDC: '3000' });
    const trades = await world.trades(book, [{ uid, sold: BigInt(sellAmount), bought }]);
    const args = [lender, weth, amount, factory, encodeSettlement(trades, { auctionId })];
    await world.call(world.solver, router, contract('LoanRouter').abi, 'flashLoanAndSettle', args);

    expect((await book.untilStatus(uid, 'fulfilled')).executedBuyAmount).toBe(buyAmount);
    expect(await world.balance(lender, 'WETH')).toBe(5n * amount + amount / 1000n);
    expect(await world.balance(trader.address, 'USDC')).toBe(bought);
    expect([await world.balance(owner, 'WETH'), await world.balance(owner, 'USDC')]).toEqual([kept, 0n]);
  }, 120_000);
});
