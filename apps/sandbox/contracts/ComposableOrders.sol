// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

struct Order {
  address sellToken;
  address buyToken;
  address receiver;
  uint256 sellAmount;
  uint256 buyAmount;
  uint32 validTo;
  bytes32 appData;
  uint256 feeAmount;
  bytes32 kind;
  bool partiallyFillable;
  bytes32 sellTokenBalance;
  bytes32 buyTokenBalance;
}

struct Params {
  address handler;
  bytes32 salt;
  bytes staticInput;
}

struct Proof {
  uint256 location;
  bytes data;
}

struct Payload {
  bytes32[] proof;
  Params params;
  bytes offchainInput;
}

interface Handler {
  function getTradeableOrder(address owner, address sender, bytes32 ctx, bytes calldata staticInput, bytes calldata offchainInput)
    external view returns (Order memory);

  function verify(
    address owner, address sender, bytes32 digest, bytes32 domain, bytes32 ctx,
    bytes calldata staticInput, bytes calldata offchainInput, Order calldata order
  ) external view;
}

interface SwapGuard {
  function verify(Order calldata order, bytes32 ctx, Params calldata params, bytes calldata offchainInput)
    external view returns (bool);
}

interface ValueFactory {
  function getValue(bytes calldata data) external view returns (bytes32);
}

interface Settlement {
  function domainSeparator() external view returns (bytes32);
}

interface Verifier {
  function isValidSafeSignature(
    address safe, address sender, bytes32 digest, bytes32 domain, bytes32 typeHash, bytes calldata encodeData,
    bytes calldata payload
  ) external view returns (bytes4);
}

interface Safe {
  function domainSeparator() external view returns (bytes32);
  function signedMessages(bytes32 digest) external view returns (uint256);
  function checkSignatures(bytes32 digest, bytes calldata data, bytes calldata signatures) external view;
  function domainVerifiers(address safe, bytes32 domain) external view returns (address);
}

bytes32 constant ORDER_TYPE = keccak256(
  "Order(address sellToken,address buyToken,address receiver,uint256 sellAmount,uint256 buyAmount,uint32 validTo,bytes32 appData,uint256 feeAmount,string kind,bool partiallyFillable,string sellTokenBalance,string buyTokenBalance)"
);
// The selector of `safeSignature(bytes32,bytes32,bytes,bytes)`, which such a signature begins with.
bytes4 constant SAFE_SIGNATURE = 0x5fd7e97d;
bytes4 constant VALID = 0x1626ba7e;

function getDigest(bytes32 domain, bytes32 typeHash, bytes memory encodeData) pure returns (bytes32) {
  return keccak256(abi.encodePacked(hex"1901", domain, keccak256(abi.encodePacked(typeHash, encodeData))));
}

/// Orders that a contract creates when their conditions hold, with the interface and the errors of the contract that public
/// chains have at 0xfdaFc9d1902f4e0b84f65F49f244b32b31013b74.
contract ComposableOrders {
  bytes32 public immutable domainSeparator;
  mapping(address => bytes32) public roots;
  mapping(address => mapping(bytes32 => bool)) public singleOrders;
  mapping(address => address) public swapGuards;
  /// Values of the block in which orders were created, by owner and hash; of a root, by owner and zero.
  mapping(address => mapping(bytes32 => bytes32)) public cabinet;

  event MerkleRootSet(address indexed owner, bytes32 root, Proof proof);
  event ConditionalOrderCreated(address indexed owner, Params params);
  event SwapGuardSet(address indexed owner, address swapGuard);

  error ProofNotAuthed();
  error SingleOrderNotAuthed();
  error SwapGuardRestricted();
  error InvalidHandler();

  constructor(address settlement) {
    domainSeparator = Settlement(settlement).domainSeparator();
  }

  function setRoot(bytes32 root, Proof calldata proof) public {
    roots[msg.sender] = root;
    emit MerkleRootSet(msg.sender, root, proof);
  }

  function setRootWithContext(bytes32 root, Proof calldata proof, address factory, bytes calldata data) external {
    setRoot(root, proof);
    cabinet[msg.sender][0] = ValueFactory(factory).getValue(data);
  }

  function create(Params calldata params, bool dispatch) public {
    if (params.handler == address(0)) revert InvalidHandler();
    singleOrders[msg.sender][hash(params)] = true;
    if (dispatch) emit ConditionalOrderCreated(msg.sender, params);
  }

  function createWithContext(Params calldata params, address factory, bytes calldata data, bool dispatch) external {
    create(params, dispatch);
    cabinet[msg.sender][hash(params)] = ValueFactory(factory).getValue(data);
  }

  function remove(bytes32 singleOrderHash) external {
    singleOrders[msg.sender][singleOrderHash] = false;
    cabinet[msg.sender][singleOrderHash] = 0;
  }

  function setSwapGuard(address swapGuard) external {
    swapGuards[msg.sender] = swapGuard;
    emit SwapGuardSet(msg.sender, swapGuard);
  }

  function hash(Params memory params) public pure returns (bytes32) {
    return keccak256(abi.encode(params));
  }

  function getTradeableOrderWithSignature(
    address owner, Params calldata params, bytes calldata offchainInput, bytes32[] calldata proof
  ) external view returns (Order memory order, bytes memory signature) {
    bytes32 ctx = authorize(owner, params, proof);
    order = Handler(params.handler).getTradeableOrder(owner, msg.sender, ctx, params.staticInput, offchainInput);
    if (!isAllowed(owner, order, ctx, params, offchainInput)) revert SwapGuardRestricted();
    Payload memory payload = Payload(proof, params, offchainInput);
    // A wallet that is not a Safe with the fallback handler verifies the order in its own code.
    signature = isSafe(owner)
      ? abi.encodeWithSelector(SAFE_SIGNATURE, domainSeparator, ORDER_TYPE, abi.encode(order), abi.encode(payload))
      : abi.encode(order, payload);
  }

  function isValidSafeSignature(
    address safe, address sender, bytes32 digest, bytes32 domain, bytes32, bytes calldata encodeData, bytes calldata encoded
  ) external view returns (bytes4) {
    Order memory order = abi.decode(encodeData, (Order));
    Payload memory payload = abi.decode(encoded, (Payload));
    Params memory params = payload.params;
    bytes32 ctx = authorize(safe, params, payload.proof);
    if (!isAllowed(safe, order, ctx, params, payload.offchainInput)) revert SwapGuardRestricted();
    Handler(params.handler).verify(
      safe, sender, digest, domain, ctx, params.staticInput, payload.offchainInput, order
    );
    return VALID;
  }

  /// The context of an order that its owner has created: its hash, or zero for a leaf of the root (sorted pairs).
  function authorize(address owner, Params memory params, bytes32[] memory proof) private view returns (bytes32 ctx) {
    if (proof.length == 0) {
      ctx = hash(params);
      if (!singleOrders[owner][ctx]) revert SingleOrderNotAuthed();
      return ctx;
    }
    bytes32 node = keccak256(abi.encodePacked(hash(params)));
    for (uint256 i; i < proof.length; i++) {
      bytes32 other = proof[i];
      node = node < other ? keccak256(abi.encodePacked(node, other)) : keccak256(abi.encodePacked(other, node));
    }
    if (node != roots[owner]) revert ProofNotAuthed();
  }

  function isAllowed(address owner, Order memory order, bytes32 ctx, Params memory params, bytes memory offchainInput)
    private view returns (bool)
  {
    address guard = swapGuards[owner];
    return guard == address(0) || SwapGuard(guard).verify(order, ctx, params, offchainInput);
  }

  function isSafe(address owner) private view returns (bool) {
    if (owner.code.length == 0) return false;
    (bool ok, bytes memory result) =
      owner.staticcall(abi.encodeCall(Safe.domainVerifiers, (owner, domainSeparator)));
    return ok && result.length == 32;
  }
}

/// Parts of an order in equal intervals, as at 0x6cF1e9cA41f7611dEf408122793c358a3d11E5a5.
contract IntervalOrders {
  struct Terms {
    address sellToken;
    address buyToken;
    address receiver;
    uint256 partSellAmount;
    uint256 minPartLimit;
    uint256 t0;
    uint256 n;
    uint256 t;
    uint256 span;
    bytes32 appData;
  }

  ComposableOrders public immutable composableCow;

  error OrderNotValid(string reason);

  constructor(ComposableOrders composableCow_) {
    composableCow = composableCow_;
  }

  function getTradeableOrder(address owner, address, bytes32 ctx, bytes calldata staticInput, bytes calldata)
    public view returns (Order memory)
  {
    Terms memory terms = abi.decode(staticInput, (Terms));
    bool isValid = terms.sellToken != terms.buyToken && terms.partSellAmount > 0 && terms.minPartLimit > 0
      && terms.n > 1 && terms.t > 0 && terms.t <= 365 days && terms.span <= terms.t;
    if (!isValid) revert OrderNotValid("invalid terms");
    uint256 start = terms.t0 == 0 ? uint256(composableCow.cabinet(owner, ctx)) : terms.t0;
    if (block.timestamp < start) revert OrderNotValid("before the first interval");
    uint256 part = (block.timestamp - start) / terms.t;
    if (part >= terms.n) revert OrderNotValid("after the last interval");
    uint256 validTo = start + part * terms.t + (terms.span == 0 ? terms.t : terms.span) - 1;
    if (block.timestamp > validTo) revert OrderNotValid("not within the span");
    bytes32 balance = keccak256("erc20");
    return Order(
      terms.sellToken, terms.buyToken, terms.receiver, terms.partSellAmount, terms.minPartLimit, uint32(validTo),
      terms.appData, 0, keccak256("sell"), false, balance, balance
    );
  }

  function verify(
    address owner, address sender, bytes32 digest, bytes32 domain, bytes32 ctx,
    bytes calldata staticInput, bytes calldata offchainInput, Order calldata
  ) external view {
    Order memory order = getTradeableOrder(owner, sender, ctx, staticInput, offchainInput);
    if (digest != getDigest(domain, ORDER_TYPE, abi.encode(order))) revert OrderNotValid("invalid hash");
  }
}

/// The time of the block in which an order is created, as at 0x52eD56Da04309Aca4c3FECC595298d80C2f16BAc.
contract BlockTime {
  function getValue(bytes calldata) external view returns (bytes32) {
    return bytes32(block.timestamp);
  }
}

/// Fallback handler of a Safe that lets a contract verify signatures of a domain, with the interface of the one at
/// 0x2f55e8b20D0B9FEFA187AA7d00B6Cbe563605bF5. A Safe cannot add methods or interfaces.
contract SafeHandler {
  mapping(address => mapping(bytes32 => address)) public domainVerifiers;

  event ChangedDomainVerifier(address indexed safe, bytes32 domainSeparator, address oldVerifier, address newVerifier);

  /// A Safe appends the caller to the data of a call that it forwards.
  function setDomainVerifier(bytes32 domain, address verifier) external {
    require(address(bytes20(msg.data[msg.data.length - 20:])) == msg.sender, "only safe can call this method");
    emit ChangedDomainVerifier(msg.sender, domain, domainVerifiers[msg.sender][domain], verifier);
    domainVerifiers[msg.sender][domain] = verifier;
  }

  function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
    if (signature.length > 4 && bytes4(signature) == SAFE_SIGNATURE) {
      (bytes32 domain, bytes32 typeHash, bytes memory encodeData, bytes memory payload) =
        abi.decode(signature[4:], (bytes32, bytes32, bytes, bytes));
      address verifier = domainVerifiers[msg.sender][domain];
      if (verifier != address(0) && digest == getDigest(domain, typeHash, encodeData)) {
        address sender = address(bytes20(msg.data[msg.data.length - 20:]));
        return Verifier(verifier).isValidSafeSignature(
          msg.sender, sender, digest, domain, typeHash, encodeData, payload
        );
      }
    }
    bytes memory message = abi.encodePacked(
      hex"1901",
      Safe(msg.sender).domainSeparator(),
      keccak256(abi.encode(keccak256("SafeMessage(bytes message)"), keccak256(abi.encode(digest))))
    );
    bytes32 hash = keccak256(message);
    if (signature.length > 0) Safe(msg.sender).checkSignatures(hash, message, signature);
    else require(Safe(msg.sender).signedMessages(hash) != 0, "Hash not approved");
    return VALID;
  }

  function supportsInterface(bytes4 id) external pure returns (bool) {
    bytes4 muxer = this.domainVerifiers.selector ^ this.setDomainVerifier.selector;
    return id == muxer || id == this.supportsInterface.selector || id == this.onERC721Received.selector
      || id == this.onERC1155Received.selector ^ this.onERC1155BatchReceived.selector;
  }

  function onERC721Received(address, address, uint256, bytes calldata) external pure returns (bytes4) {
    return this.onERC721Received.selector;
  }

  function onERC1155Received(address, address, uint256, uint256, bytes calldata) external pure returns (bytes4) {
    return this.onERC1155Received.selector;
  }

  function onERC1155BatchReceived(address, address, uint256[] calldata, uint256[] calldata, bytes calldata)
    external pure returns (bytes4)
  {
    return this.onERC1155BatchReceived.selector;
  }
}
