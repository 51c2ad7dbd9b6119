// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// An ERC-20 token with a faucet: every account may create atoms. For local chains only.
/// Name, symbol and decimals are part of the code, so that the code works at any address.
contract SandboxToken {
  event Transfer(address indexed from, address indexed to, uint256 value);
  event Approval(address indexed owner, address indexed spender, uint256 value);

  bytes32 private immutable nameText;
  bytes32 private immutable symbolText;
  uint8 public immutable decimals;

  uint256 public totalSupply;
  mapping(address => uint256) public balanceOf;
  mapping(address => mapping(address => uint256)) public allowance;
  mapping(address => uint256) public nonces;
  bool public frozen;

  constructor(bytes32 name_, bytes32 symbol_, uint8 decimals_) {
    nameText = name_;
    symbolText = symbol_;
    decimals = decimals_;
  }

  function name() external view returns (string memory) {
    return text(nameText);
  }

  function symbol() external view returns (string memory) {
    return text(symbolText);
  }

  /// Creates atoms for an account.
  function mint(address to, uint256 value) external {
    set(to, balanceOf[to] + value);
  }

  /// Sets the balance of an account.
  function setBalance(address account, uint256 value) external {
    set(account, value);
  }

  /// Makes transfers revert, or possible again.
  function setFrozen(bool value) external {
    frozen = value;
  }

  function transfer(address to, uint256 value) external returns (bool) {
    move(msg.sender, to, value);
    return true;
  }

  function transferFrom(address from, address to, uint256 value) external returns (bool) {
    uint256 allowed = allowance[from][msg.sender];
    require(allowed >= value, "insufficient allowance");
    if (allowed != type(uint256).max) allowance[from][msg.sender] = allowed - value;
    move(from, to, value);
    return true;
  }

  function approve(address spender, uint256 value) external returns (bool) {
    grant(msg.sender, spender, value);
    return true;
  }

  function DOMAIN_SEPARATOR() public view returns (bytes32) {
    bytes32 domainType = keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    return keccak256(abi.encode(domainType, keccak256(bytes(text(nameText))), keccak256("1"), block.chainid, address(this)));
  }

  /// Sets an allowance by a signature of the owner (EIP-2612).
  function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external {
    require(block.timestamp <= deadline, "permit expired");
    bytes32 permitType = keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    bytes32 structHash = keccak256(abi.encode(permitType, owner, spender, value, nonces[owner]++, deadline));
    address signer = ecrecover(keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), structHash)), v, r, s);
    require(signer != address(0) && signer == owner, "invalid permit");
    grant(owner, spender, value);
  }

  function move(address from, address to, uint256 value) private {
    require(!frozen, "token is frozen");
    require(balanceOf[from] >= value, "insufficient balance");
    balanceOf[from] -= value;
    balanceOf[to] += value;
    emit Transfer(from, to, value);
  }

  function grant(address owner, address spender, uint256 value) private {
    allowance[owner][spender] = value;
    emit Approval(owner, spender, value);
  }

  function set(address account, uint256 value) private {
    uint256 old = balanceOf[account];
    balanceOf[account] = value;
    // The sandbox writes balances to the storage, so that the sum of all may be above the supply.
    unchecked {
      totalSupply += value - old;
    }
    if (value >= old) emit Transfer(address(0), account, value - old);
    else emit Transfer(account, address(0), old - value);
  }

  function text(bytes32 packed) private pure returns (string memory) {
    uint256 size;
    while (size < 32 && packed[size] != 0) size++;
    bytes memory out = new bytes(size);
    for (uint256 i; i < size; i++) out[i] = packed[i];
    return string(out);
  }
}
