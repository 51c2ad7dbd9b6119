import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

type Versions = Readonly<Record<string, string>>;

/** Published packages for flash loans. They need older versions of the SDK, so only their test installs them. */
export const FLASH_LOAN_PACKAGES: Versions = {
  '@cowprotocol/sdk-flash-loans': '1.7.4',
  '@cowprotocol/sdk-viem-adapter': '0.3.17',
};

/** Published packages for swaps with a bridge, for their test only. */
export const BRIDGING_PACKAGES: Versions = {
  '@cowprotocol/sdk-bridging': '4.4.2',
  '@cowprotocol/sdk-viem-adapter': '0.3.17',
};

/** The members of published packages that tests use. Their types are those of other versions of the SDK. */
export interface SdkPackages {
  readonly setGlobalAdapter: (adapter: unknown) => void;
  readonly ViemAdapter: new (options: object) => unknown;
  readonly OrderBookApi: new (context: object) => unknown;
  readonly TradingSdk: new (trader: object, options: object, adapter: unknown) => unknown;
}

/** Installs packages, and those of the SDK that they need, into a folder. @returns `undefined` without a registry. */
export async function installPackages<T>(versions: Versions): Promise<(SdkPackages & T) | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-packages-'));
  process.once('exit', () => existsSync(folder) && rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', '--fetch-retries=0'];
  const given = Object.entries(versions).map(([name, version]) => `${name}@${version}`);
  try {
    execFileSync('npm', ['install', ...flags, ...given, 'viem@2'], { cwd: folder, stdio: 'ignore', timeout: 280_000 });
  } catch {
    return undefined;
  }
  const names = Object.keys(versions).concat(
    ['common', 'order-book', 'trading'].map((name) => `@cowprotocol/sdk-${name}`),
  );
  writeFileSync(join(folder, 'packages.mjs'), names.map((name) => `export * from '${name}';`).join('\n'));
  return import(/* @vite-ignore */ pathToFileURL(join(folder, 'packages.mjs')).href);
}
