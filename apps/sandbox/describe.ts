import type { Sandbox } from './sandbox-types.ts';

/** Describes a sandbox for programs: URLs, contracts, accounts with their keys, and tokens. */
export function describeSandbox(sandbox: Sandbox) {
  const { url, rpcUrl, docsUrl, chainId, settlementContract, vaultRelayer, operatorToken, accounts } = sandbox;
  return {
    url,
    rpcUrl,
    explorerUrl: `${url}/`,
    docsUrl,
    controlUrl: `${url}/sandbox`,
    chainId,
    settlementContract,
    vaultRelayer,
    operatorToken,
    accounts,
    tokens: sandbox.tokens.map(({ symbol, name, address, decimals }) => ({ symbol, name, address, decimals })),
  };
}
