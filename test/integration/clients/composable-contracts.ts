import { compileSolidity } from '../../support/solidity.ts';

/**
 * A registry of conditional orders with the interface that the published package calls, and a wallet that signs what
 * the registry allows. It has one kind of order: equal parts at equal intervals.
 */
const SOURCE = `
pragma solidity ^0.8.0;

struct Params { address handler; bytes32 salt; bytes staticInput; }

struct Parts {
  address sellToken; address buyToken; address receiver; uint256 partSellAmount; uint256 minPartLimit;
  uint256 t0; uint256 n; uint256 t; uint256 span; bytes32 appData;
}

struct Order {
  address sellToken; address buyToken; address receiver; uint256 sellAmount; uint256 buyAmount; uint32 validTo;
  bytes32 appData; uint256 feeAmount; bytes32 kind; bool partiallyFillable; bytes32 sellTokenBalance; bytes32 buyTokenBalance;
}

interface Settlement { function domainSeparator() external view returns (bytes32); }

contract Registry {
  mapping(address => mapping(bytes32 => bool)) public singleOrders;

  function create(Params calldata params, bool) external {
    singleOrders[msg.sender][keccak256(abi.encode(params))] = true;
  }

  function getTradeableOrderWithSignature(address owner, Params calldata params, bytes calldata, bytes32[] calldata)
    external view returns (Order memory, bytes memory)
  {
    require(singleOrders[owner][keccak256(abi.encode(params))], "not authorized");
    return (currentPart(params), abi.encode(params));
  }

  function isAllowed(address owner, bytes32 digest, bytes calldata signature) external view returns (bool) {
    Params memory params = abi.decode(signature, (Params));
    if (!singleOrders[owner][keccak256(abi.encode(params))]) return false;
    bytes32 separator = Settlement(0x9008D19f58AAbD9eD0D60971565AA8510560ab41).domainSeparator();
    bytes32 orderType = keccak256(
      "Order(address sellToken,address buyToken,address receiver,uint256 sellAmount,uint256 buyAmount,uint32 validTo,bytes32 appData,uint256 feeAmount,string kind,bool partiallyFillable,string sellTokenBalance,string buyTokenBalance)"
    );
    bytes32 structHash = keccak256(abi.encode(orderType, currentPart(params)));
    return keccak256(abi.encodePacked("\\x19\\x01", separator, structHash)) == digest;
  }

  function currentPart(Params memory params) private view returns (Order memory) {
    Parts memory parts = abi.decode(params.staticInput, (Parts));
    require(block.timestamp >= parts.t0, "not started");
    uint256 part = (block.timestamp - parts.t0) / parts.t;
    require(part < parts.n, "finished");
    bytes32 erc20 = keccak256("erc20");
    return Order(
      parts.sellToken, parts.buyToken, parts.receiver, parts.partSellAmount, parts.minPartLimit,
      uint32(parts.t0 + (part + 1) * parts.t - 1), parts.appData, 0, keccak256("sell"), false, erc20, erc20
    );
  }
}

contract RegistryWallet {
  Registry private immutable registry;

  constructor(Registry registry_) { registry = registry_; }

  function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
    return registry.isAllowed(address(this), digest, signature) ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
  }
}
`;

/** Compiles the registry and the wallet. */
export function compileComposable() {
  const { Registry, RegistryWallet } = compileSolidity(SOURCE);
  if (Registry === undefined || RegistryWallet === undefined) throw new Error('the contracts are incomplete');
  return { Registry, RegistryWallet };
}
