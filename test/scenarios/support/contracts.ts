import { compileSolidity } from '../../support/solidity.ts';

const SOURCE = `
pragma solidity ^0.8.0;

interface Token {
  function approve(address, uint256) external returns (bool);
  function transfer(address, uint256) external returns (bool);
}

/// A token whose allowances can be set by a signature (EIP-2612).
contract PermitToken {
  string public constant symbol = "PERMIT";
  uint8 public constant decimals = 18;
  uint256 public totalSupply;
  mapping(address => uint256) public balanceOf;
  mapping(address => mapping(address => uint256)) public allowance;
  mapping(address => uint256) public nonces;

  function mint(address to, uint256 amount) external { balanceOf[to] += amount; totalSupply += amount; }
  function approve(address spender, uint256 amount) external returns (bool) { allowance[msg.sender][spender] = amount; return true; }
  function transfer(address to, uint256 amount) external returns (bool) { move(msg.sender, to, amount); return true; }
  function transferFrom(address from, address to, uint256 amount) external returns (bool) {
    allowance[from][msg.sender] -= amount;
    move(from, to, amount);
    return true;
  }
  function move(address from, address to, uint256 amount) private { balanceOf[from] -= amount; balanceOf[to] += amount; }

  function DOMAIN_SEPARATOR() public view returns (bytes32) {
    return keccak256(abi.encode(
      keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
      keccak256("Permit"), keccak256("1"), block.chainid, address(this)
    ));
  }
  function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external {
    require(block.timestamp <= deadline, "expired");
    bytes32 structHash = keccak256(abi.encode(
      keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"),
      owner, spender, value, nonces[owner]++, deadline
    ));
    bytes32 digest = keccak256(abi.encodePacked("\\x19\\x01", DOMAIN_SEPARATOR(), structHash));
    require(ecrecover(digest, v, r, s) == owner, "wrong signature");
    allowance[owner][spender] = value;
  }
}

/// Counts calls and keeps the account that made the last one.
contract Counter {
  mapping(bytes32 => uint256) public counts;
  address public caller;
  function increment(bytes32 name) external { counts[name]++; caller = msg.sender; }
}

/// A wallet of one owner that approves a spender when it is created.
contract Wallet {
  address public immutable owner;
  uint256 public burned;
  uint256 public immutable work;

  constructor(address owner_, address token, address spender, uint256 work_) {
    owner = owner_;
    work = work_;
    if (token != address(0)) Token(token).approve(spender, type(uint256).max);
  }
  receive() external payable {}

  function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
    uint256 limit = gasleft() - work;
    while (work > 0 && gasleft() > limit) {}
    if (signature.length != 65) return 0xffffffff;
    address signer = ecrecover(digest, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
    return signer == owner ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
  }
}

contract WalletFactory {
  function create(address owner, address token, address spender) external {
    new Wallet{salt: bytes32(0)}(owner, token, spender, 0);
  }
  function addressOf(address owner, address token, address spender) external view returns (address) {
    bytes memory code = abi.encodePacked(type(Wallet).creationCode, abi.encode(owner, token, spender, uint256(0)));
    return address(uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), bytes32(0), keccak256(code))))));
  }
}

/// Passes a settlement on with data that it keeps, as a wrapper does.
contract Wrapper {
  bytes public last;
  function wrap(address target, bytes calldata data, bytes calldata own) external {
    last = own;
    (bool ok, bytes memory reason) = target.call(data);
    if (!ok) assembly { revert(add(reason, 32), mload(reason)) }
  }
}

/// Passes a settlement on, as a relay of a solver does.
contract Relay {
  function relay(address target, bytes calldata data) external payable {
    (bool ok, bytes memory reason) = target.call(data);
    if (!ok) assembly { revert(add(reason, 32), mload(reason)) }
  }
}
`;

type Names = 'PermitToken' | 'Counter' | 'Wallet' | 'WalletFactory' | 'Wrapper' | 'Relay';

let compiled: ReturnType<typeof compileSolidity> | undefined;

/** Returns a contract of the scenarios. They are compiled once. */
export function contract(name: Names) {
  compiled ??= compileSolidity(SOURCE);
  const found = compiled[name];
  if (found === undefined) throw new Error(`there is no contract ${name}`);
  return found;
}
