import type { Address, Hex, InteractionData, QuoteVerification, QuoteVerifier, VerificationOutcome } from 'intentbook';
import { array, bytes, bytes32, encodeCall, SETTLE_SELECTOR, tuple, word } from '#internal';
import { createBalanceSlots, toWord } from './balance-slots.ts';
import type { RpcClient } from './rpc.ts';
import { callRpc, list, NodeError, parseHexResult, parseQuantity, record, toQuantity } from './rpc.ts';

/** The account that settles in a simulation. Its key is unknown. */
const SOLVER: Address = '0x00000000000000000000000000000000c0ffee02';

/** Selectors of the contracts. */
const SELECTORS = {
  authenticator: '0x2335c76b',
  manager: '0x481c6a75',
  addSolver: '0xec58f4b8',
  setPreSignature: '0xec6cb13f',
  approve: '0x095ea7b3',
  balanceOf: '0x70a08231',
} as const satisfies Record<string, Hex>;

/** Gas limit of the settlement, and of each other call. */
const SETTLE_GAS = 20_000_000;
const CALL_GAS = 2_000_000;

const UNLIMITED = 2n ** 256n - 1n;
const ZERO_ADDRESS: Address = `0x${'00'.repeat(20)}`;

/** Values of the flags of a trade (GPv2Trade.sol): a buy order, and the signing scheme of pre-signatures. */
const BUY_FLAG = 1;
const PRESIGN_FLAG = 3 << 5;

/** The parts of a settlement contract that decide who may settle. */
interface Authority {
  readonly authenticator: Address;
  readonly manager: Address;
}

interface SimulatedCall {
  readonly from: Address;
  readonly to: Address;
  readonly input: Hex;
  readonly gas?: string;
}

/** The result of a simulated call. */
interface CallResult {
  readonly success: boolean;
  readonly data: Hex;
  readonly gas: number;
}

/**
 * Creates a verifier of quotes on a node (`eth_simulateV1`). In one simulated block, the owner approves the relayer and
 * signs on chain, then a solver settles. The node needs `eth_createAccessList` as well, because an override of the
 * state provides sell tokens that the owner does not have.
 *
 * @param client - A `PublicClient`. Its transport controls retries.
 */
export function viemQuoteVerifier(client: RpcClient): QuoteVerifier {
  const slots = createBalanceSlots(client);
  const authorities = new Map<Address, Authority>();

  async function readAddress(to: Address, data: Hex, signal: AbortSignal): Promise<Address> {
    const result = parseHexResult(await callRpc(client, signal, 'eth_call', [{ to, data }, 'latest']), 32);
    return `0x${result.slice(26)}`;
  }

  async function getAuthority(settlement: Address, signal: AbortSignal): Promise<Authority> {
    const known = authorities.get(settlement);
    if (known !== undefined) return known;
    const authenticator = await readAddress(settlement, SELECTORS.authenticator, signal);
    const authority = { authenticator, manager: await readAddress(authenticator, SELECTORS.manager, signal) };
    authorities.set(settlement, authority);
    return authority;
  }

  /** Returns the override that gives the owner the sold tokens. `undefined` if the balance is sufficient. */
  async function fund({ order, owner }: QuoteVerification, signal: AbortSignal) {
    const { sellToken, sellAmount } = order;
    const data: Hex = `${SELECTORS.balanceOf}${toWord(BigInt(owner)).slice(2)}`;
    const result = parseHexResult(await callRpc(client, signal, 'eth_call', [{ to: sellToken, data }, 'latest']));
    if (result.length >= 66 && BigInt(result.slice(0, 66)) >= sellAmount) return undefined;
    const slot = await slots.find(sellToken, owner, signal);
    return slot === undefined ? 'unknown' : { [slot.contract]: { stateDiff: { [slot.key]: toWord(sellAmount) } } };
  }

  async function simulate(
    calls: readonly SimulatedCall[],
    stateOverrides: object | undefined,
    signal: AbortSignal,
  ): Promise<readonly CallResult[]> {
    const block = { calls, ...(stateOverrides === undefined ? {} : { stateOverrides }) };
    const simulation = { blockStateCalls: [block], validation: false };
    const result = record(list(await callRpc(client, signal, 'eth_simulateV1', [simulation, 'latest']))[0]);
    return list(result['calls']).map((each) => {
      const { status, returnData, gasUsed } = record(each);
      return { success: status === '0x1', data: parseHexResult(returnData ?? '0x'), gas: parseQuantity(gasUsed) };
    });
  }

  return {
    async verify(quote, { signal }) {
      try {
        const authority = await getAuthority(quote.settlementContract, signal);
        const override = await fund(quote, signal);
        if (override === 'unknown') return { status: 'failed', reason: 'the balance of the sell token is not found' };
        const results = await simulate(createCalls(quote, authority), override, signal);
        return readOutcome(quote, results);
      } catch (error) {
        if (error instanceof NodeError && error.unsupported) return { status: 'unsupported' };
        throw error;
      }
    },
  };
}

/** Positions of the calls from the end of the simulated block. */
const FROM_END = { soldBefore: -5, boughtBefore: -4, settle: -3, soldAfter: -2, boughtAfter: -1 } as const;

function createCalls(quote: QuoteVerification, { authenticator, manager }: Authority): SimulatedCall[] {
  const { order, owner, uid, settlementContract: settlement, vaultRelayer } = quote;
  const approve = (amount: bigint) => encodeCall(SELECTORS.approve, [word(vaultRelayer), word(amount)]);
  const balance = (token: Address) => call(SOLVER, token, encodeCall(SELECTORS.balanceOf, [word(settlement)]));
  const balances = [balance(order.sellToken), balance(order.buyToken)];
  return [
    call(manager, authenticator, encodeCall(SELECTORS.addSolver, [word(SOLVER)])),
    // Some tokens reject a change of an allowance that is not zero.
    call(owner, order.sellToken, approve(0n)),
    call(owner, order.sellToken, approve(UNLIMITED)),
    call(owner, settlement, encodeCall(SELECTORS.setPreSignature, [bytes(uid), word(1n)])),
    ...balances,
    { ...call(SOLVER, settlement, encodeSettlement(quote)), gas: toQuantity(SETTLE_GAS) },
    ...balances,
  ];
}

function call(from: Address, to: Address, input: Hex): SimulatedCall {
  return { from, to, input, gas: toQuantity(CALL_GAS) };
}

/** Encodes a settlement of the order alone, at prices that give the owner exactly the estimated amount. */
function encodeSettlement({ order, owner, interactions, hooks }: QuoteVerification): Hex {
  const { sellToken, buyToken, sellAmount, buyAmount } = order;
  const trade = tuple([
    word(0),
    word(1),
    word(order.receiver ?? ZERO_ADDRESS),
    word(sellAmount),
    word(buyAmount),
    word(order.validTo),
    bytes32(order.appData),
    word(order.feeAmount),
    word(PRESIGN_FLAG | (order.kind === 'buy' ? BUY_FLAG : 0)),
    word(order.kind === 'sell' ? sellAmount : buyAmount),
    bytes(owner),
  ]);
  return encodeCall(SETTLE_SELECTOR, [
    array([sellToken, buyToken].map(word)),
    array([buyAmount, sellAmount].map(word)),
    array([trade]),
    tuple([hooks.pre, interactions, hooks.post].map(encodeInteractions)),
  ]);
}

function encodeInteractions(interactions: readonly InteractionData[]) {
  return array(
    interactions.map(({ target, value, callData }) => tuple([word(target), word(BigInt(value)), bytes(callData)])),
  );
}

/**
 * Compares the balances of the settlement contract before and after the settlement. What the interactions bought beyond
 * the estimate is there afterwards, and what they bought less was taken from there.
 */
function readOutcome({ order }: QuoteVerification, results: readonly CallResult[]): VerificationOutcome {
  const settlement = results.at(FROM_END.settle);
  if (settlement === undefined || !settlement.success) return { status: 'failed', reason: 'the settlement reverts' };
  const read = (at: number) => BigInt(results.at(at)?.data.slice(0, 66).padEnd(66, '0') ?? '0x0');
  const sold = read(FROM_END.soldAfter) - read(FROM_END.soldBefore);
  const bought = read(FROM_END.boughtAfter) - read(FROM_END.boughtBefore);
  const [surplus, spent] = order.kind === 'sell' ? [bought, sold] : [sold, bought];
  if (spent < 0n) return { status: 'failed', reason: 'the settlement spends tokens of the settlement contract' };
  const amount = order.kind === 'sell' ? order.buyAmount + surplus : order.sellAmount - surplus;
  if (amount <= 0n) return { status: 'failed', reason: 'the interactions yield nothing' };
  return { status: 'verified', amount, gas: settlement.gas };
}
