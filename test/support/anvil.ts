import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Hex } from 'intentbook';
import type { Chain, PublicActions } from 'viem';
import { createTestClient, http, publicActions, TransactionReceiptNotFoundError, walletActions } from 'viem';
import { foundry } from 'viem/chains';

const require = createRequire(import.meta.url);

type Receipt = Awaited<ReturnType<PublicActions['getTransactionReceipt']>>;

/**
 * Waits until a transaction is in a block. `waitForTransactionReceipt` of viem waits for a further block if this one is
 * mined while it asks for the transaction, and a node that mines one block for each transaction has none.
 */
export async function waitForReceipt(
  client: Pick<PublicActions, 'getTransactionReceipt'>,
  hash: Hex,
): Promise<Receipt> {
  for (;;) {
    try {
      return await client.getTransactionReceipt({ hash });
    } catch (error) {
      if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** A real EVM with a funded, unlocked account. It mines one block per transaction. */
export async function startAnvil(chain: Chain = foundry, ...flags: readonly string[]) {
  // The platform binary is a dependency of the anvil package.
  const machine = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  const own = createRequire(require.resolve('@foundry-rs/anvil/package.json'));
  const binary = join(dirname(own.resolve(`@foundry-rs/anvil-${machine}/package.json`)), 'bin', 'anvil');
  const child = spawn(binary, ['--port', '0', '--chain-id', String(chain.id), ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise<string>((resolve, reject) => {
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const [, address] = /Listening on (\S+)/.exec(output) ?? [];
      if (address !== undefined) resolve(`http://${address}`);
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`anvil ended with ${code}: ${output.slice(-500)}`)));
  });
  const client = createTestClient({
    mode: 'anvil',
    chain,
    transport: http(url, { batch: { batchSize: 200 }, retryCount: 0 }),
    pollingInterval: 20,
  })
    .extend(publicActions)
    .extend(walletActions);
  const [account] = await client.getAddresses();
  if (account === undefined) throw new Error('anvil has no account');

  return {
    url,
    client,
    account,
    /** Deploys a contract. */
    async deploy(
      artifact: { readonly abi: readonly unknown[]; readonly bytecode: string },
      args: readonly unknown[] = [],
    ) {
      const bytecode: Hex = artifact.bytecode.startsWith('0x') ? (artifact.bytecode as Hex) : `0x${artifact.bytecode}`;
      const hash = await client.deployContract({ abi: artifact.abi, bytecode, args, account });
      const { contractAddress } = await waitForReceipt(client, hash);
      if (!contractAddress) throw new Error('the contract was not deployed');
      return contractAddress;
    },
    async stop(): Promise<void> {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill();
      await ended;
    },
  };
}
