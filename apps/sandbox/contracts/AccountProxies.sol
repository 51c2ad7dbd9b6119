// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

struct Call {
  address target;
  uint256 value;
  bytes callData;
  bool allowFailure;
  bool isDelegateCall;
}

interface SignatureVerifier {
  function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4);
}

/// Code of the account proxies: makes calls that the owner of the proxy has signed.
contract AccountProxy {
  error InvalidSignature();
  error NonceAlreadyUsed();
  error OnlyTrustedExecutor();
  error OnlySelf();
  error OnlyAdmin();
  error AlreadyInitialized();

  event TrustedExecutorChanged(address previousExecutor, address newExecutor);

  struct State {
    bool initialized;
    address trustedExecutor;
    mapping(bytes32 => bool) nonces;
  }

  bytes32 constant CALL_TYPE =
    keccak256("Call(address target,uint256 value,bytes callData,bool allowFailure,bool isDelegateCall)");
  bytes32 constant HOOKS_TYPE = keccak256(
    "ExecuteHooks(Call[] calls,bytes32 nonce,uint256 deadline)Call(address target,uint256 value,bytes callData,bool allowFailure,bool isDelegateCall)"
  );
  bytes32 constant DOMAIN_TYPE =
    keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");

  receive() external payable {}

  function initialize(address factory, bool) external {
    State storage state = getState();
    if (state.initialized) revert AlreadyInitialized();
    state.initialized = true;
    setExecutor(factory);
  }

  function executeHooks(Call[] calldata calls, bytes32 nonce, uint256 deadline, bytes calldata signature) external {
    bytes32[] memory hashes = new bytes32[](calls.length);
    for (uint256 i = 0; i < calls.length; i++) {
      Call calldata each = calls[i];
      bytes32 data = keccak256(each.callData);
      hashes[i] = keccak256(
        abi.encode(CALL_TYPE, each.target, each.value, data, each.allowFailure, each.isDelegateCall)
      );
    }
    bytes32 hooks = keccak256(abi.encode(HOOKS_TYPE, keccak256(abi.encodePacked(hashes)), nonce, deadline));
    bytes32 digest = keccak256(abi.encodePacked(hex"1901", domainSeparator(), hooks));
    if (block.timestamp > deadline || !isSigned(digest, signature)) revert InvalidSignature();
    if (getState().nonces[nonce]) revert NonceAlreadyUsed();
    getState().nonces[nonce] = true;
    run(calls);
  }

  function trustedExecuteHooks(Call[] calldata calls) external {
    if (msg.sender != getState().trustedExecutor) revert OnlyTrustedExecutor();
    run(calls);
  }

  function updateTrustedExecutor(address executor) external {
    if (msg.sender != address(this)) revert OnlySelf();
    setExecutor(executor);
  }

  function revokeNonce(bytes32 nonce) external {
    if (msg.sender != getOwner()) revert OnlyAdmin();
    getState().nonces[nonce] = true;
  }

  function nonces(bytes32 nonce) external view returns (bool) {
    return getState().nonces[nonce];
  }

  function trustedExecutor() external view returns (address) {
    return getState().trustedExecutor;
  }

  function domainSeparator() public view returns (bytes32) {
    return keccak256(abi.encode(DOMAIN_TYPE, keccak256("COWShed"), keccak256("1.0.1"), block.chainid, address(this)));
  }

  function setExecutor(address executor) private {
    emit TrustedExecutorChanged(getState().trustedExecutor, executor);
    getState().trustedExecutor = executor;
  }

  function isSigned(bytes32 digest, bytes calldata signature) private view returns (bool) {
    address owner = getOwner();
    if (owner.code.length > 0) return SignatureVerifier(owner).isValidSignature(digest, signature) == 0x1626ba7e;
    if (signature.length != 65) return false;
    address signer = ecrecover(digest, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
    return signer == owner && signer != address(0);
  }

  function run(Call[] calldata calls) private {
    for (uint256 i = 0; i < calls.length; i++) {
      Call calldata each = calls[i];
      (bool ok, bytes memory result) = each.isDelegateCall
        ? each.target.delegatecall(each.callData)
        : each.target.call{value: each.value}(each.callData);
      if (ok || each.allowFailure) continue;
      assembly {
        revert(add(result, 32), mload(result))
      }
    }
  }

  /// The proxy returns its owner to itself only.
  function getOwner() private view returns (address) {
    (, bytes memory result) = address(this).staticcall(abi.encodeWithSignature("admin()"));
    return abi.decode(result, (address));
  }

  /// The slot in which the proxy reads whether it is initialized.
  function getState() private pure returns (State storage state) {
    bytes32 slot = keccak256("COWShed.State");
    assembly {
      state.slot := slot
    }
  }
}

/// Deploys the proxy of an owner with its first calls. The creation code of proxies stands at an address.
contract AccountFactory {
  event COWShedBuilt(address user, address shed);

  address public immutable implementation;
  address immutable creationCode;
  mapping(address => address) public ownerOf;

  constructor(address implementation_, address creationCode_) {
    (implementation, creationCode) = (implementation_, creationCode_);
  }

  function executeHooks(
    Call[] calldata calls,
    bytes32 nonce,
    uint256 deadline,
    address user,
    bytes calldata signature
  ) external {
    AccountProxy(payable(deploy(user))).executeHooks(calls, nonce, deadline, signature);
  }

  function initializeProxy(address user, bool) external {
    deploy(user);
  }

  function proxyOf(address user) public view returns (address) {
    bytes32 hash = keccak256(abi.encodePacked(hex"ff", address(this), toSalt(user), keccak256(toCode(user))));
    return address(uint160(uint256(hash)));
  }

  function deploy(address user) private returns (address proxy) {
    proxy = proxyOf(user);
    if (proxy.code.length > 0) return proxy;
    (bytes memory code, bytes32 salt) = (toCode(user), toSalt(user));
    assembly {
      proxy := create2(0, add(code, 32), mload(code), salt)
    }
    AccountProxy(payable(proxy)).initialize(address(this), false);
    ownerOf[proxy] = user;
    emit COWShedBuilt(user, proxy);
  }

  function toSalt(address user) private pure returns (bytes32) {
    return bytes32(uint256(uint160(user)));
  }

  function toCode(address user) private view returns (bytes memory) {
    return abi.encodePacked(creationCode.code, abi.encode(implementation, user));
  }
}
