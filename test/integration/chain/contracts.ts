import { createRequire } from 'node:module';
import type { Abi, Hex } from 'viem';

const require = createRequire(import.meta.url);

const SOURCE = `
pragma solidity ^0.8.20;

/// A wallet of one key, as far as EIP-1271 goes.
contract Wallet {
  address public immutable signer;
  constructor(address signer_) { signer = signer_; }

  function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
    (bytes32 r, bytes32 s, uint8 v) = (bytes32(signature[0:32]), bytes32(signature[32:64]), uint8(signature[64]));
    return ecrecover(digest, v, r, s) == signer ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
  }

  function call(address target, bytes calldata data) external {
    (bool ok,) = target.call(data);
    require(ok);
  }
}

interface IToken {
  function approve(address, uint256) external returns (bool);
  function transfer(address, uint256) external returns (bool);
}

/// A wallet of one key that allows a spender to move a token.
contract LoanWallet is Wallet {
  constructor(address signer_, IToken token, address spender) Wallet(signer_) { token.approve(spender, type(uint256).max); }
}

/// Receives a flash loan. It deploys the wallet of a trader and moves the borrowed tokens to it.
contract LoanFactory {
  function deploy(bytes32 salt, address signer, IToken token, address spender, uint256 amount) external {
    LoanWallet wallet = new LoanWallet{salt: salt}(signer, token, spender);
    require(token.transfer(address(wallet), amount), "no loan");
  }
}

/// Answers signatures in ways that a node should be spared.
contract TrustsSettlement {
  address public immutable settlement;
  mapping(bytes32 => bool) public committed;
  constructor(address settlement_) { settlement = settlement_; }

  function commit(bytes32 digest) external {
    require(msg.sender == settlement, "not the settlement contract");
    committed[digest] = true;
  }

  function isValidSignature(bytes32 digest, bytes calldata) external view returns (bytes4) {
    require(committed[digest], "not committed");
    return bytes4(0x1626ba7e);
  }
}

contract Rogue {
  uint256 public immutable kind;
  constructor(uint256 kind_) { kind = kind_; }

  fallback() external {
    if (kind == 0) { while (true) {} }
    if (kind == 1) { assembly { mstore(0, shl(224, 0x1626ba7e)) return(0, 100000) } }
    if (kind == 2) { assembly { mstore(0, shl(224, 0x1626ba7e)) return(0, 4) } }
    if (kind == 3) { assembly { revert(0, 0) } }
    if (kind == 4) { assembly { mstore(0, shl(224, 0x20c13b0b)) return(0, 32) } }
    if (kind == 5) { assembly { mstore(0, 0x1626ba7e) return(0, 32) } }
    if (kind == 6) { assembly { mstore(0, 1) return(0, 32) } }
    if (kind == 7) { assembly { return(0, 0) } }
  }
}

/// Says of itself what no token should.
contract OddToken {
  uint256 public immutable kind;
  constructor(uint256 kind_) { kind = kind_; }
  function totalSupply() external pure returns (uint256) { return 1; }
  function decimals() external view returns (uint256) {
    if (kind == 2) { while (true) {} }
    return kind == 1 ? 256 : 8;
  }
  function symbol() external view returns (bytes32) { return kind == 1 ? bytes32(hex"ff00") : bytes32("MKR"); }
  function name() external view {
    if (kind == 1) { assembly { mstore(0, 32) mstore(32, 0xffffffffffffffffffffffffffffffff) return(0, 100000) } }
    if (kind == 2) revert();
    assembly { mstore(0, 32) mstore(32, 200) mstore(64, "abcdefghijklmnopqrstuvwxyzabcdef") return(0, 288) }
  }
}

/// Emits what the contracts do that place orders for native currency.
contract Flow {
  struct Order {
    address sellToken; address buyToken; address receiver; uint256 sellAmount; uint256 buyAmount; uint32 validTo;
    bytes32 appData; uint256 feeAmount; bytes32 kind; bool partiallyFillable; bytes32 sellTokenBalance; bytes32 buyTokenBalance;
  }
  struct Signature { uint8 scheme; bytes data; }
  event OrderPlacement(address indexed sender, Order order, Signature signature, bytes data);
  event OrderInvalidation(bytes orderUid);
  event OrderRefund(bytes orderUid, address indexed refunder);

  function place(Order calldata order, bytes calldata data) external {
    emit OrderPlacement(msg.sender, order, Signature(0, abi.encodePacked(address(this))), data);
  }
  function invalidate(bytes calldata uid) external { emit OrderInvalidation(uid); }
  function refund(bytes calldata uid) external { emit OrderRefund(uid, msg.sender); }
  function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) { return 0x1626ba7e; }
  function approve(address token, address spender) external {
    (bool ok,) = token.call(abi.encodeWithSignature("approve(address,uint256)", spender, type(uint256).max));
    require(ok);
  }
}

/// Passes a settlement on, so that the transaction does not call the settlement contract itself.
contract Relay {
  function relay(address target, bytes calldata data) external {
    (bool ok,) = target.call(data);
    require(ok);
  }
}
`;

export interface Compiled {
  readonly abi: Abi;
  readonly bytecode: Hex;
}

let compiled: Record<string, { abi: Abi; evm: { bytecode: { object: string } } }> | undefined;

/** Compiles the contracts of the tests once. */
export function contract(
  name: 'Wallet' | 'LoanWallet' | 'LoanFactory' | 'TrustsSettlement' | 'Rogue' | 'OddToken' | 'Flow' | 'Relay',
): Compiled {
  compiled ??= compile();
  const found = compiled[name];
  if (found === undefined) throw new Error(`there is no contract ${name}`);
  return { abi: found.abi, bytecode: `0x${found.evm.bytecode.object}` };
}

function compile(): NonNullable<typeof compiled> {
  const solc: { compile(input: string): string } = require('solc');
  const input = {
    language: 'Solidity',
    sources: { 'test.sol': { content: SOURCE } },
    settings: { evmVersion: 'paris', outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const errors = (output.errors ?? []).filter(({ severity }: { severity: string }) => severity === 'error');
  if (errors.length > 0) throw new Error(errors[0].formattedMessage);
  return output.contracts['test.sol'];
}
