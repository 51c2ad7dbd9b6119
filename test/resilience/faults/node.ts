import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ScriptedChain } from '../../support/scripted-chain.ts';

/** Invalid responses of a node. */
export const CORRUPTIONS = [
  'invalid JSON',
  'half',
  'another page',
  'wrong hex',
  'huge',
  'silence',
  'cut',
  'nothing',
  'another hash',
  'error',
] as const;
export type Corruption = (typeof CORRUPTIONS)[number];

/** A node of a scripted chain, over JSON-RPC on HTTP. */
export interface Node extends AsyncDisposable {
  readonly url: string;
}

/** @param spoil selects the kind of response by the called method. */
export async function startNode(
  chain: ScriptedChain,
  corrupt: (method: string) => Corruption | undefined,
): Promise<Node> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const call = JSON.parse(body);
      if (Array.isArray(call)) {
        const results = call.map((each) => ({
          jsonrpc: '2.0',
          id: each.id,
          result: resultOf(chain, each.method, each.params),
        }));
        return response.end(JSON.stringify(results));
      }
      const { id, method, params } = call;
      const corrupted = corrupt(method);
      const answer = (result: unknown) => JSON.stringify({ jsonrpc: '2.0', id, result });
      const right = answer(resultOf(chain, method, params));
      switch (corrupted) {
        case undefined:
          return response.end(right);
        case 'invalid JSON':
          return response.end('}{ "result": [[[');
        case 'half':
          return response.end(right.slice(0, right.length / 2));
        case 'another page':
          return response.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad gateway</html>');
        case 'wrong hex':
          return response.end(right.replaceAll('0x', '0xzz'));
        case 'huge':
          return response.end(answer('0x'.padEnd(2_000_000, 'f')));
        case 'silence':
          return; // until the client aborts
        case 'cut':
          return request.socket.destroy();
        case 'nothing':
          return response.end(answer(null));
        case 'another hash':
          return response.end(right.replace(/(?<="hash":"0x)../, (byte) => (byte === 'dd' ? 'ee' : 'dd')));
        case 'error':
          return response.end(
            JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message: 'header not found' } }),
          );
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // of a TCP listener
  return {
    url: `http://127.0.0.1:${port}/secret-key`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const quantity = (number: number) => `0x${number.toString(16)}`;

function resultOf(chain: ScriptedChain, method: string, params: readonly unknown[]): unknown {
  const header = (block: ScriptedChain['head'] | undefined) =>
    block === undefined
      ? null
      : {
          hash: block.hash,
          parentHash: block.parentHash,
          number: quantity(block.number),
          timestamp: quantity(block.timestamp),
        };
  switch (method) {
    case 'eth_chainId':
      return quantity(11155111);
    case 'eth_getCode':
      return '0x60';
    case 'eth_getBlockByNumber':
      return header(
        params[0] === 'latest' ? chain.head : chain.blocks.find(({ number }) => quantity(number) === params[0]),
      );
    case 'eth_getLogs': {
      const [{ blockHash, fromBlock, toBlock }] = params as [
        { blockHash?: string; fromBlock?: string; toBlock?: string },
      ];
      return chain.blocks
        .filter(({ hash, number }) =>
          blockHash === undefined ? number >= Number(fromBlock) && number <= Number(toBlock) : hash === blockHash,
        )
        .flatMap(({ logs }) => logs)
        .map((log) => ({
          address: log.address,
          topics: log.topics,
          data: log.data,
          blockHash: log.blockHash,
          blockNumber: quantity(log.blockNumber),
          logIndex: quantity(log.logIndex),
          transactionHash: log.transactionHash,
        }));
    }
    default:
      return null;
  }
}
