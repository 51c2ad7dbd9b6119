// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// Runs the hooks of orders for the settlement contract. Each hook gets its gas limit; one that fails is ignored.
contract HooksTrampoline {
  struct Hook {
    address target;
    bytes callData;
    uint256 gasLimit;
  }

  error NotASettlement();
  error NotEnoughGas();

  address public immutable settlement;

  constructor(address settlement_) {
    settlement = settlement_;
  }

  function execute(Hook[] calldata hooks) external {
    if (msg.sender != settlement) revert NotASettlement();
    for (uint256 i; i < hooks.length; i++) {
      Hook calldata hook = hooks[i];
      // A call gets at most 63/64 of the gas that is left (EIP-150).
      if ((gasleft() * 63) / 64 < hook.gasLimit) revert NotEnoughGas();
      (bool ok,) = hook.target.call{gas: hook.gasLimit}(hook.callData);
      ok;
    }
  }
}
