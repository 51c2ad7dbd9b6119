// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// A wallet of one key: signs for its owner (EIP-1271) and makes calls for it.
contract SmartWallet {
  address public immutable owner;

  constructor(address owner_) {
    owner = owner_;
  }

  receive() external payable {}

  function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
    if (signature.length != 65) return 0xffffffff;
    address signer = ecrecover(digest, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
    return signer == owner && signer != address(0) ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
  }

  function execute(address target, uint256 value, bytes calldata callData) external returns (bytes memory) {
    require(msg.sender == owner, "caller is not the owner");
    (bool ok, bytes memory result) = target.call{value: value}(callData);
    require(ok, "call failed");
    return result;
  }
}
