import { cancellationTypedData, orderFromQuote, orderTypedData, signingDomain } from 'intentbook/sign';

/** A part of a dApp: it requests quotes, signs orders with a wallet, and submits them over HTTP. */
export function createDapp({ url, chainId, settlementContract, wallet }) {
  const domain = signingDomain({ chainId, settlementContract });

  async function call(method, path, body) {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/api/v1/${path}`, { method, headers, body: body && JSON.stringify(body) });
    const result = await response.json();
    if (!response.ok) throw new Error(result.errorType);
    return result;
  }

  return {
    /** Sells `amount` atoms. @returns The UID of the order. */
    async swap(sellToken, buyToken, amount) {
      const from = wallet.address;
      const terms = { from, sellToken, buyToken, kind: 'sell', sellAmountBeforeFee: String(amount) };
      const quote = await call('POST', 'quote', terms);
      const order = orderFromQuote(quote, { slippageBps: 50 });
      const signature = await wallet.signTypedData(orderTypedData(domain, order));
      return call('POST', 'orders', { ...order, from, quoteId: quote.id, signature, signingScheme: 'eip712' });
    },
    async cancel(uid) {
      const signature = await wallet.signTypedData(cancellationTypedData(domain, [uid]));
      return call('DELETE', 'orders', { orderUids: [uid], signature, signingScheme: 'eip712' });
    },
    status: async (uid) => (await call('GET', `orders/${uid}`)).status,
  };
}
