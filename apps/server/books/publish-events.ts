import type { NatsConnection } from '@nats-io/transport-node';
import type { OrderBook } from 'intentbook';
import type { NatsTarget } from '../config/plan.ts';
import { requirePackage } from '../require-package.ts';

/**
 * Publishes the log of a book to JetStream until the result is called.
 *
 * @param nats - The stream. Absent: events are not published.
 */
export async function publishEvents(book: OrderBook, nats: NatsTarget | undefined): Promise<() => Promise<void>> {
  if (nats === undefined) return async () => {};
  const { urls, stream } = nats;
  const { connect } = await requirePackage('--nats-url', '@nats-io/transport-node', () => {
    return import('@nats-io/transport-node');
  });
  const { jetstream } = await requirePackage('--nats-url', '@nats-io/jetstream', () => import('@nats-io/jetstream'));
  const { natsPublisher } = await import('intentbook/nats');
  let connection: NatsConnection | undefined;
  let isStopped = false;
  const publisher = natsPublisher({
    log: book.log,
    stream,
    async jetstream() {
      await connection?.close();
      connection = await connect({
        ...parseServers(urls),
        name: `intentbook ${stream}`,
        maxReconnectAttempts: -1,
        // Without it, the second rejection of the credentials closes the connection for ever.
        ignoreAuthErrorAbort: true,
      });
      if (isStopped) await connection.close();
      return jetstream(connection);
    },
    onFailure: (cause) =>
      isStopped || book.reportError(new Error(`events are not published to the stream ${stream}`, { cause })),
  });
  publisher.start();
  return async () => {
    isStopped = true;
    const stopped = publisher.stop();
    // A server that accepts the first connection and does not respond would delay the stop by 20 seconds.
    if (connection !== undefined) await stopped;
    await connection?.close();
  };
}

/** Splits URLs into servers and the credentials of the first one. A user without a password is a token. */
function parseServers(urls: readonly string[]) {
  const servers = urls.map((text) => {
    const { protocol, host } = new URL(text);
    return `${protocol}//${host}`;
  });
  const { username, password } = new URL(urls[0] ?? '');
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
  if (user === '') return { servers };
  return pass === '' ? { servers, token: user } : { servers, user, pass };
}
