/** Solidity of a lender and of a solver that settles with a loan. Further contracts of a test are appended. */
export const LENDING = `
pragma solidity ^0.8.0;

interface Token {
  function approve(address, uint256) external returns (bool);
  function balanceOf(address) external view returns (uint256);
  function transfer(address, uint256) external returns (bool);
  function transferFrom(address, address, uint256) external returns (bool);
}
interface FlashBorrower {
  function onFlashLoan(address initiator, address token, uint256 amount, uint256 fee, bytes calldata data) external returns (bytes32);
}
bytes32 constant ACCEPTED = keccak256("ERC3156FlashBorrower.onFlashLoan");

/// Lends for the duration of a call (ERC-3156), for a fee of 0.1 %.
contract Lender {
  function maxFlashLoan(address token) external view returns (uint256) { return Token(token).balanceOf(address(this)); }
  function flashFee(address, uint256 amount) public pure returns (uint256) { return amount / 1000; }
  function flashLoan(FlashBorrower receiver, address token, uint256 amount, bytes calldata data) external returns (bool) {
    uint256 fee = flashFee(token, amount);
    Token(token).transfer(address(receiver), amount);
    require(receiver.onFlashLoan(msg.sender, token, amount, fee, data) == ACCEPTED, "refused");
    Token(token).transferFrom(address(receiver), address(this), amount + fee);
    return true;
  }
}

/// Borrows for an order, gives the loan to its receiver, and settles. It is a solver.
contract LoanRouter is FlashBorrower {
  address immutable settlement;
  constructor(address settlement_) { settlement = settlement_; }
  function flashLoanAndSettle(Lender lender, address token, uint256 amount, address receiver, bytes calldata call) external {
    lender.flashLoan(this, token, amount, abi.encode(receiver, call));
  }
  function onFlashLoan(address, address token, uint256 amount, uint256 fee, bytes calldata data) external returns (bytes32) {
    (address receiver, bytes memory call) = abi.decode(data, (address, bytes));
    Token(token).transfer(receiver, amount);
    (bool ok, bytes memory reason) = settlement.call(call);
    if (!ok) assembly { revert(add(reason, 32), mload(reason)) }
    Token(token).approve(msg.sender, amount + fee);
    return ACCEPTED;
  }
}
`;
