// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

interface WrappedNative {
  function deposit() external payable;
  function withdraw(uint256) external;
  function approve(address, uint256) external returns (bool);
  function balanceOf(address) external view returns (uint256);
}

interface Settlement {
  function filledAmount(bytes calldata uid) external view returns (uint256);
  function domainSeparator() external view returns (bytes32);
}

/// Places orders that sell native currency: keeps the currency, owns the order (EIP-1271), and refunds what is not
/// filled.
contract NativeFlow {
  struct PlacedOrder {
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

  struct NativeOrder {
    address buyToken;
    address receiver;
    uint256 sellAmount;
    uint256 buyAmount;
    bytes32 appData;
    uint256 feeAmount;
    uint32 validTo;
    bool partiallyFillable;
    int64 quoteId;
  }

  struct OnchainSignature {
    uint8 scheme;
    bytes data;
  }

  struct Placement {
    address owner;
    uint32 validTo;
  }

  event OrderPlacement(address indexed sender, PlacedOrder order, OnchainSignature signature, bytes data);
  event OrderInvalidation(bytes orderUid);
  event OrderRefund(bytes orderUid, address indexed refunder);

  error IncorrectEthAmount();
  error ReceiverMustBeSet();
  error NotAllowedZeroSellAmount();
  error OrderIsAlreadyOwned(bytes32 orderHash);
  error OrderIsAlreadyExpired();
  error NotAllowedToInvalidateOrder(bytes32 orderHash);
  error EthTransferFailed();

  address private constant INVALIDATED = address(type(uint160).max);
  bytes32 private constant SELL = keccak256("sell");
  bytes32 private constant ERC20 = keccak256("erc20");
  bytes32 private constant ORDER_TYPE = keccak256(
    "Order(address sellToken,address buyToken,address receiver,uint256 sellAmount,uint256 buyAmount,uint32 validTo,bytes32 appData,uint256 feeAmount,string kind,bool partiallyFillable,string sellTokenBalance,string buyTokenBalance)"
  );

  Settlement public immutable cowSwapSettlement;
  WrappedNative public immutable wrappedNativeToken;
  address private immutable vaultRelayer;

  mapping(bytes32 => Placement) public orders;

  constructor(Settlement settlement_, WrappedNative wrapped_, address vaultRelayer_) {
    cowSwapSettlement = settlement_;
    wrappedNativeToken = wrapped_;
    vaultRelayer = vaultRelayer_;
  }

  receive() external payable {}

  /// Wraps all native currency of the contract. Runs before the trade of each order.
  function wrapAll() external {
    wrappedNativeToken.deposit{value: address(this).balance}();
  }

  function wrap(uint256 amount) external {
    wrappedNativeToken.deposit{value: amount}();
  }

  function unwrap(uint256 amount) external {
    wrappedNativeToken.withdraw(amount);
  }

  /// Allows the vault relayer to transfer the wrapped currency. Called once by the sandbox.
  function approveRelayer() external {
    wrappedNativeToken.approve(vaultRelayer, type(uint256).max);
  }

  function createOrder(NativeOrder calldata order) external payable returns (bytes32 orderHash) {
    if (msg.value != order.sellAmount + order.feeAmount) revert IncorrectEthAmount();
    if (order.receiver == address(0)) revert ReceiverMustBeSet();
    if (order.sellAmount == 0) revert NotAllowedZeroSellAmount();
    if (order.validTo < block.timestamp) revert OrderIsAlreadyExpired();
    PlacedOrder memory placed = toPlaced(order);
    orderHash = hash(placed);
    if (orders[orderHash].owner != address(0)) revert OrderIsAlreadyOwned(orderHash);
    orders[orderHash] = Placement(msg.sender, order.validTo);
    emit OrderPlacement(
      msg.sender,
      placed,
      OnchainSignature(0, abi.encodePacked(address(this))),
      abi.encodePacked(order.quoteId, order.validTo)
    );
  }

  /// Cancels an order for its owner, or for any account once it has expired, and refunds what is not filled.
  function invalidateOrder(NativeOrder calldata order) public {
    bytes32 orderHash = hash(toPlaced(order));
    Placement memory placement = orders[orderHash];
    bool isExpired = placement.validTo < block.timestamp;
    if (
      placement.owner == address(0) || placement.owner == INVALIDATED ||
      (!isExpired && placement.owner != msg.sender)
    ) revert NotAllowedToInvalidateOrder(orderHash);
    orders[orderHash].owner = INVALIDATED;
    bytes memory uid = abi.encodePacked(orderHash, address(this), type(uint32).max);
    uint256 filled = cowSwapSettlement.filledAmount(uid);
    if (placement.owner == msg.sender) emit OrderInvalidation(uid);
    else emit OrderRefund(uid, msg.sender);
    uint256 refund = filled >= order.sellAmount ? 0 : order.sellAmount - filled;
    uint256 wrapped = wrappedNativeToken.balanceOf(address(this));
    if (address(this).balance < refund && wrapped > 0) {
      uint256 missing = refund - address(this).balance;
      wrappedNativeToken.withdraw(missing < wrapped ? missing : wrapped);
    }
    (bool ok,) = placement.owner.call{value: refund}("");
    if (!ok) revert EthTransferFailed();
  }

  function invalidateOrdersIgnoringNotAllowed(NativeOrder[] calldata list) external {
    for (uint256 i; i < list.length; i++) {
      bytes32 orderHash = hash(toPlaced(list[i]));
      Placement memory placement = orders[orderHash];
      bool isKnown = placement.owner != address(0) && placement.owner != INVALIDATED;
      if (isKnown && (placement.owner == msg.sender || placement.validTo < block.timestamp)) invalidateOrder(list[i]);
    }
  }

  function isValidSignature(bytes32 orderHash, bytes memory) external view returns (bytes4) {
    Placement memory placement = orders[orderHash];
    bool isOpen = placement.owner != address(0) && placement.owner != INVALIDATED;
    return isOpen && placement.validTo >= block.timestamp ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
  }

  function toPlaced(NativeOrder calldata order) private view returns (PlacedOrder memory) {
    return PlacedOrder(
      address(wrappedNativeToken), order.buyToken, order.receiver, order.sellAmount, order.buyAmount,
      type(uint32).max, order.appData, order.feeAmount, SELL, order.partiallyFillable, ERC20, ERC20
    );
  }

  function hash(PlacedOrder memory order) private view returns (bytes32) {
    bytes32 structHash = keccak256(abi.encode(ORDER_TYPE, order));
    return keccak256(abi.encodePacked("\x19\x01", cowSwapSettlement.domainSeparator(), structHash));
  }
}
