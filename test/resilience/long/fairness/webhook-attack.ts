import { account, signCancellation, signOrder } from '../../../support/orders.ts';

/** Wallets of the attacker whose notifications go to its receiver. */
export const ATTACKERS = Array.from({ length: 20 }, (_, n) => account(88_000 + n));

/** Cancels orders of the attacker continuously, so that its receiver gets notifications. */
export function attackWebhooks(port: number, connections: number): { stop(): void } {
  let isStopped = false;
  let orders = Math.floor(Date.now() / 1000);
  const send = (method: string, body: unknown) =>
    fetch(`http://127.0.0.1:${port}/api/v1/orders`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  async function run(first: number): Promise<void> {
    for (let i = first; !isStopped; i += connections) {
      const signer = ATTACKERS[i % ATTACKERS.length];
      if (signer === undefined) return;
      const order = await signOrder(signer, {
        sellAmount: String(2n * 10n ** 18n + BigInt(++orders)),
        validTo: orders + 90_000,
      });
      const response = await send('POST', order);
      const text = await response.text();
      if (response.status === 201) {
        const orderUids = [JSON.parse(text) as string];
        await (await send('DELETE', { orderUids, ...(await signCancellation(signer, { orderUids })) })).text();
      } else await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
  // More loops would only be rejected: a client has ten writes per second.
  for (let i = 0; i < Math.min(connections, 8); i++) void run(i).catch(() => {});
  return {
    stop() {
      isStopped = true;
    },
  };
}
