// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// Calls several contracts in one call, with the interface of the contract that every public chain has at
/// 0xcA11bde05977b3631167028862bE2a173976CA11. Wallets and front ends read balances through it.
contract Multicall3 {
  struct Call {
    address target;
    bytes callData;
  }

  struct Call3 {
    address target;
    bool allowFailure;
    bytes callData;
  }

  struct Call3Value {
    address target;
    bool allowFailure;
    uint256 value;
    bytes callData;
  }

  struct Result {
    bool success;
    bytes returnData;
  }

  function aggregate(Call[] calldata calls) external payable returns (uint256 blockNumber, bytes[] memory returnData) {
    blockNumber = block.number;
    returnData = new bytes[](calls.length);
    for (uint256 i; i < calls.length; i++) {
      bool success;
      (success, returnData[i]) = calls[i].target.call(calls[i].callData);
      require(success, "Multicall3: call failed");
    }
  }

  function tryAggregate(bool requireSuccess, Call[] calldata calls) public payable returns (Result[] memory results) {
    results = new Result[](calls.length);
    for (uint256 i; i < calls.length; i++) {
      (bool success, bytes memory data) = calls[i].target.call(calls[i].callData);
      require(success || !requireSuccess, "Multicall3: call failed");
      results[i] = Result(success, data);
    }
  }

  function tryBlockAndAggregate(bool requireSuccess, Call[] calldata calls)
    public
    payable
    returns (uint256 blockNumber, bytes32 blockHash, Result[] memory results)
  {
    blockNumber = block.number;
    blockHash = blockhash(block.number);
    results = tryAggregate(requireSuccess, calls);
  }

  function blockAndAggregate(Call[] calldata calls)
    external
    payable
    returns (uint256 blockNumber, bytes32 blockHash, Result[] memory results)
  {
    return tryBlockAndAggregate(true, calls);
  }

  function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory results) {
    results = new Result[](calls.length);
    for (uint256 i; i < calls.length; i++) {
      results[i] = run(calls[i].target, calls[i].allowFailure, 0, calls[i].callData);
    }
  }

  function aggregate3Value(Call3Value[] calldata calls) external payable returns (Result[] memory results) {
    results = new Result[](calls.length);
    uint256 sent;
    for (uint256 i; i < calls.length; i++) {
      sent += calls[i].value;
      results[i] = run(calls[i].target, calls[i].allowFailure, calls[i].value, calls[i].callData);
    }
    require(msg.value == sent, "Multicall3: value mismatch");
  }

  function run(address target, bool allowFailure, uint256 value, bytes calldata data) private returns (Result memory) {
    (bool success, bytes memory returned) = target.call{value: value}(data);
    require(success || allowFailure, "Multicall3: call failed");
    return Result(success, returned);
  }

  function getBlockHash(uint256 blockNumber) external view returns (bytes32) {
    return blockhash(blockNumber);
  }

  function getBlockNumber() external view returns (uint256) {
    return block.number;
  }

  function getCurrentBlockCoinbase() external view returns (address) {
    return block.coinbase;
  }

  function getCurrentBlockGasLimit() external view returns (uint256) {
    return block.gaslimit;
  }

  function getCurrentBlockTimestamp() external view returns (uint256) {
    return block.timestamp;
  }

  function getEthBalance(address account) external view returns (uint256) {
    return account.balance;
  }

  function getLastBlockHash() external view returns (bytes32) {
    return blockhash(block.number - 1);
  }

  function getBasefee() external view returns (uint256) {
    return block.basefee;
  }

  function getChainId() external view returns (uint256) {
    return block.chainid;
  }
}
