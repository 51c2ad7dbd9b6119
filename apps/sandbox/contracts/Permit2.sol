// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

interface Token {
  function transferFrom(address from, address to, uint256 amount) external returns (bool);
}

interface Wallet {
  function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4);
}

/// Allowances and transfers by a signature, with the interface, types and errors of the contract that every public chain
/// has at 0x000000000022D473030F116dDEE9F6B43aC78BA3.
contract Permit2 {
  struct PermitDetails {
    address token;
    uint160 amount;
    uint48 expiration;
    uint48 nonce;
  }

  struct PermitSingle {
    PermitDetails details;
    address spender;
    uint256 sigDeadline;
  }

  struct PermitBatch {
    PermitDetails[] details;
    address spender;
    uint256 sigDeadline;
  }

  struct Allowed {
    uint160 amount;
    uint48 expiration;
    uint48 nonce;
  }

  struct TokenSpenderPair {
    address token;
    address spender;
  }

  struct AllowanceTransferDetails {
    address from;
    address to;
    uint160 amount;
    address token;
  }

  struct TokenPermissions {
    address token;
    uint256 amount;
  }

  struct PermitTransferFrom {
    TokenPermissions permitted;
    uint256 nonce;
    uint256 deadline;
  }

  struct PermitBatchTransferFrom {
    TokenPermissions[] permitted;
    uint256 nonce;
    uint256 deadline;
  }

  struct SignatureTransferDetails {
    address to;
    uint256 requestedAmount;
  }

  event Approval(address indexed owner, address indexed token, address indexed spender, uint160 amount, uint48 expiration);
  event Permit(
    address indexed owner, address indexed token, address indexed spender, uint160 amount, uint48 expiration, uint48 nonce
  );
  event Lockdown(address indexed owner, address token, address spender);
  event NonceInvalidation(
    address indexed owner, address indexed token, address indexed spender, uint48 newNonce, uint48 oldNonce
  );
  event UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask);

  error AllowanceExpired(uint256 deadline);
  error InsufficientAllowance(uint256 amount);
  error ExcessiveInvalidation();
  error SignatureExpired(uint256 signatureDeadline);
  error InvalidNonce();
  error InvalidAmount(uint256 maxAmount);
  error LengthMismatch();
  error InvalidSignatureLength();
  error InvalidSigner();
  error InvalidContractSignature();

  string private constant DETAILS_TYPE = "PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)";
  string private constant PERMISSIONS_TYPE = "TokenPermissions(address token,uint256 amount)";

  mapping(address => mapping(address => mapping(address => Allowed))) public allowance;
  mapping(address => mapping(uint256 => uint256)) public nonceBitmap;

  function DOMAIN_SEPARATOR() public view returns (bytes32) {
    bytes32 domainType = keccak256("EIP712Domain(string name,uint256 chainId,address verifyingContract)");
    return keccak256(abi.encode(domainType, keccak256("Permit2"), block.chainid, address(this)));
  }

  function approve(address token, address spender, uint160 amount, uint48 expiration) external {
    Allowed storage allowed = allowance[msg.sender][token][spender];
    allowed.amount = amount;
    allowed.expiration = expiration == 0 ? uint48(block.timestamp) : expiration;
    emit Approval(msg.sender, token, spender, amount, expiration);
  }

  function permit(address owner, PermitSingle calldata single, bytes calldata signature) external {
    bytes32 singleType =
      keccak256(abi.encodePacked("PermitSingle(PermitDetails details,address spender,uint256 sigDeadline)", DETAILS_TYPE));
    bytes32 structHash =
      keccak256(abi.encode(singleType, hashDetails(single.details), single.spender, single.sigDeadline));
    verify(owner, structHash, single.sigDeadline, signature);
    grant(owner, single.spender, single.details);
  }

  function permit(address owner, PermitBatch calldata batch, bytes calldata signature) external {
    bytes32 batchType =
      keccak256(abi.encodePacked("PermitBatch(PermitDetails[] details,address spender,uint256 sigDeadline)", DETAILS_TYPE));
    bytes32[] memory hashes = new bytes32[](batch.details.length);
    for (uint256 i; i < hashes.length; i++) hashes[i] = hashDetails(batch.details[i]);
    bytes32 details = keccak256(abi.encodePacked(hashes));
    verify(owner, keccak256(abi.encode(batchType, details, batch.spender, batch.sigDeadline)), batch.sigDeadline, signature);
    for (uint256 i; i < hashes.length; i++) grant(owner, batch.spender, batch.details[i]);
  }

  function transferFrom(address from, address to, uint160 amount, address token) external {
    spend(from, to, amount, token);
  }

  function transferFrom(AllowanceTransferDetails[] calldata transfers) external {
    for (uint256 i; i < transfers.length; i++) {
      spend(transfers[i].from, transfers[i].to, transfers[i].amount, transfers[i].token);
    }
  }

  function lockdown(TokenSpenderPair[] calldata approvals) external {
    for (uint256 i; i < approvals.length; i++) {
      allowance[msg.sender][approvals[i].token][approvals[i].spender].amount = 0;
      emit Lockdown(msg.sender, approvals[i].token, approvals[i].spender);
    }
  }

  function invalidateNonces(address token, address spender, uint48 newNonce) external {
    Allowed storage allowed = allowance[msg.sender][token][spender];
    uint48 oldNonce = allowed.nonce;
    if (newNonce <= oldNonce) revert InvalidNonce();
    if (newNonce - oldNonce > type(uint16).max) revert ExcessiveInvalidation();
    allowed.nonce = newNonce;
    emit NonceInvalidation(msg.sender, token, spender, newNonce, oldNonce);
  }

  function invalidateUnorderedNonces(uint256 wordPos, uint256 mask) external {
    nonceBitmap[msg.sender][wordPos] |= mask;
    emit UnorderedNonceInvalidation(msg.sender, wordPos, mask);
  }

  function permitTransferFrom(
    PermitTransferFrom calldata terms,
    SignatureTransferDetails calldata transfer,
    address owner,
    bytes calldata signature
  ) external {
    transferSigned(terms, transfer, owner, 0, "uint256 deadline)", signature);
  }

  function permitWitnessTransferFrom(
    PermitTransferFrom calldata terms,
    SignatureTransferDetails calldata transfer,
    address owner,
    bytes32 witness,
    string calldata witnessType,
    bytes calldata signature
  ) external {
    transferSigned(terms, transfer, owner, witness, string.concat("uint256 deadline,", witnessType), signature);
  }

  function permitTransferFrom(
    PermitBatchTransferFrom calldata terms,
    SignatureTransferDetails[] calldata transfers,
    address owner,
    bytes calldata signature
  ) external {
    transferBatch(terms, transfers, owner, 0, "uint256 deadline)", signature);
  }

  function permitWitnessTransferFrom(
    PermitBatchTransferFrom calldata terms,
    SignatureTransferDetails[] calldata transfers,
    address owner,
    bytes32 witness,
    string calldata witnessType,
    bytes calldata signature
  ) external {
    transferBatch(terms, transfers, owner, witness, string.concat("uint256 deadline,", witnessType), signature);
  }

  function transferSigned(
    PermitTransferFrom calldata terms,
    SignatureTransferDetails calldata transfer,
    address owner,
    bytes32 witness,
    string memory typeEnd,
    bytes calldata signature
  ) private {
    if (transfer.requestedAmount > terms.permitted.amount) revert InvalidAmount(terms.permitted.amount);
    bytes32 structHash = hashTransfer(
      "", "", hashPermissions(terms.permitted), terms.nonce, terms.deadline, witness, typeEnd
    );
    verify(owner, structHash, terms.deadline, signature);
    useNonce(owner, terms.nonce);
    move(terms.permitted.token, owner, transfer.to, transfer.requestedAmount);
  }

  function transferBatch(
    PermitBatchTransferFrom calldata terms,
    SignatureTransferDetails[] calldata transfers,
    address owner,
    bytes32 witness,
    string memory typeEnd,
    bytes calldata signature
  ) private {
    bytes32[] memory hashes = new bytes32[](terms.permitted.length);
    if (hashes.length != transfers.length) revert LengthMismatch();
    for (uint256 i; i < hashes.length; i++) hashes[i] = hashPermissions(terms.permitted[i]);
    bytes32 structHash = hashTransfer(
      "Batch", "[]",
      keccak256(abi.encodePacked(hashes)),
      terms.nonce,
      terms.deadline,
      witness,
      typeEnd
    );
    verify(owner, structHash, terms.deadline, signature);
    useNonce(owner, terms.nonce);
    for (uint256 i; i < hashes.length; i++) {
      uint256 amount = transfers[i].requestedAmount;
      if (amount > terms.permitted[i].amount) revert InvalidAmount(terms.permitted[i].amount);
      if (amount != 0) move(terms.permitted[i].token, owner, transfers[i].to, amount);
    }
  }

  /// A type with a witness ends with the member of the witness, its type, and the type of permissions.
  function hashTransfer(
    string memory batch,
    string memory list,
    bytes32 permissions,
    uint256 nonce,
    uint256 deadline,
    bytes32 witness,
    string memory typeEnd
  ) private view returns (bytes32) {
    bool isPlain = bytes(typeEnd).length == 17;
    string memory name = string.concat("Permit", batch, isPlain ? "" : "Witness", "TransferFrom(TokenPermissions", list);
    bytes memory members = abi.encodePacked(name, " permitted,address spender,uint256 nonce,", typeEnd);
    if (isPlain) members = abi.encodePacked(members, PERMISSIONS_TYPE);
    bytes memory encoded = abi.encode(keccak256(members), permissions, msg.sender, nonce, deadline);
    return keccak256(isPlain ? encoded : abi.encodePacked(encoded, witness));
  }

  function hashDetails(PermitDetails calldata details) private pure returns (bytes32) {
    return keccak256(abi.encode(keccak256(bytes(DETAILS_TYPE)), details));
  }

  function hashPermissions(TokenPermissions calldata permissions) private pure returns (bytes32) {
    return keccak256(abi.encode(keccak256(bytes(PERMISSIONS_TYPE)), permissions));
  }

  function grant(address owner, address spender, PermitDetails calldata details) private {
    Allowed storage allowed = allowance[owner][details.token][spender];
    if (allowed.nonce != details.nonce) revert InvalidNonce();
    uint48 expiration = details.expiration == 0 ? uint48(block.timestamp) : details.expiration;
    allowance[owner][details.token][spender] = Allowed(details.amount, expiration, details.nonce + 1);
    emit Permit(owner, details.token, spender, details.amount, details.expiration, details.nonce);
  }

  function spend(address from, address to, uint160 amount, address token) private {
    Allowed storage allowed = allowance[from][token][msg.sender];
    if (block.timestamp > allowed.expiration) revert AllowanceExpired(allowed.expiration);
    if (allowed.amount != type(uint160).max) {
      if (amount > allowed.amount) revert InsufficientAllowance(allowed.amount);
      allowed.amount -= amount;
    }
    move(token, from, to, amount);
  }

  function useNonce(address owner, uint256 nonce) private {
    uint256 bit = 1 << uint8(nonce);
    if (nonceBitmap[owner][nonce >> 8] & bit != 0) revert InvalidNonce();
    nonceBitmap[owner][nonce >> 8] |= bit;
  }

  function move(address token, address from, address to, uint256 amount) private {
    require(Token(token).transferFrom(from, to, amount), "TRANSFER_FROM_FAILED");
  }

  function verify(address owner, bytes32 structHash, uint256 deadline, bytes calldata signature) private view {
    if (block.timestamp > deadline) revert SignatureExpired(deadline);
    bytes32 digest = keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), structHash));
    if (owner.code.length != 0) {
      if (Wallet(owner).isValidSignature(digest, signature) != 0x1626ba7e) revert InvalidContractSignature();
      return;
    }
    if (signature.length != 65) revert InvalidSignatureLength();
    address signer =
      ecrecover(digest, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64]));
    if (signer == address(0) || signer != owner) revert InvalidSigner();
  }
}
