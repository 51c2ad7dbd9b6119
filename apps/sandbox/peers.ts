import { createRequire } from 'node:module';
import type { Hex } from 'intentbook';

/** Created on use: a bundle of format `cjs` has no `import.meta.url`. */
const getRequire = () => createRequire(import.meta.url);

/** Packages that the sandbox needs for a chain, with the versions that it is tested with. */
export const PEERS = {
  '@foundry-rs/anvil': '1.7.1',
  '@cowprotocol/contracts': '1.8.0',
  '@uniswap/v2-core': '1.0.1',
  '@uniswap/v2-periphery': '1.1.0-beta.0',
} as const;

type Peer = keyof typeof PEERS;

/** A package that the sandbox needs is not installed. */
export class MissingPackage extends Error {
  override readonly name = 'MissingPackage';
}

/**
 * Resolves a file of an optional peer.
 *
 * @throws MissingPackage with the command that installs all missing packages.
 */
export function resolvePeer(peer: Peer, file: string): string {
  try {
    return getRequire().resolve(`${peer}/${file}`);
  } catch (cause) {
    const missing = Object.entries(PEERS).filter(([name]) => !isInstalled(name));
    const names = missing.map(([name, version]) => `${name}@${version}`);
    const command = `npm install --save-dev ${names.join(' ')}`;
    throw new MissingPackage(
      `the sandbox needs ${missing.map(([name]) => name).join(', ')}: ${command}; the simulated chain (--simulated) needs no package`,
      { cause },
    );
  }
}

/** Reads a JSON file of an optional peer. */
export function readPeer<T>(peer: Peer, file: string): T {
  return getRequire()(resolvePeer(peer, file));
}

/** Reads the creation code of account proxies from their package, which the sandbox can do without. */
export function readAccountProxyCode(): Hex | undefined {
  if (!isInstalled('@cowprotocol/sdk-cow-shed')) return undefined;
  return getRequire()('@cowprotocol/sdk-cow-shed').COW_SHED_PROXY_INIT_CODE['1.0.1'];
}

function isInstalled(name: string): boolean {
  try {
    getRequire().resolve(`${name}/package.json`);
    return true;
  } catch {
    return false;
  }
}
