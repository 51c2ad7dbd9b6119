import { connect } from 'node:net';
import { domainToASCII } from 'node:url';
import type { Channel, ChannelCall, DeliveryResult, Notification } from 'intentbook';
import { assertKnownOptions } from '#internal';

/** How mail is sent, and in whose name. */
export interface EmailOptions {
  /** The mail server: `smtps://user:password@mail.example.org`, or `smtp://…`, which turns to TLS where the server offers it. */
  readonly smtp: string;
  /** Who the mails are from: `notifications@example.org`. */
  readonly from: string;
  /** Where the account interface is reached from outside, `https://api.example.org`: links in mails begin with it. */
  readonly publicUrl: string;
}

/**
 * Mails over SMTP. A subscription names an address, and is confirmed by the link that is sent there. Every try of a delivery
 * has the same Message-ID. Needs the package nodemailer.
 *
 * @throws TypeError for an unknown option, or one that is missing or malformed. It repeats no secrets.
 */
export function emailChannel(options: EmailOptions): Channel {
  assertKnownOptions('emailChannel', options, ['smtp', 'from', 'publicUrl']);
  const { smtp, publicUrl } = options;
  const isServer = typeof smtp === 'string' && URL.canParse(smtp) && /^smtps?:\/\/[^/]/.test(smtp);
  if (!isServer) throw new TypeError('emailChannel: smtp must be a URL of smtp or smtps');
  const from = parseAddress(options.from ?? '');
  if (from === undefined) throw new TypeError('emailChannel: from must be an address');
  if (!URL.canParse(publicUrl) || !/^https?:$/.test(new URL(publicUrl).protocol)) {
    throw new TypeError('emailChannel: publicUrl must be a URL of http or https');
  }
  const base = publicUrl.replace(/\/+$/, '');
  const domain = from.slice(from.lastIndexOf('@') + 1);

  async function send(mail: Mail, { signal }: ChannelCall): Promise<void> {
    const { createTransport } = await import('nodemailer');
    signal.throwIfAborted();
    const transport = createTransport({
      url: smtp,
      // A mail that is given up must not arrive behind those that are sent after it.
      getSocket({ host = 'localhost', port = 587 }, callback) {
        const connection = connect({ host, port: Number(port) });
        const abort = () => void connection.destroy(new Error('given up'));
        signal.addEventListener('abort', abort, { once: true });
        connection.once('close', () => signal.removeEventListener('abort', abort));
        connection.once('error', rejected);
        connection.once('connect', () => {
          connection.off('error', rejected);
          callback(null, { connection });
        });
        function rejected(error: Error): void {
          callback(error, false);
        }
      },
    });
    await transport.sendMail({ ...mail, from, disableFileAccess: true, disableUrlAccess: true });
  }

  return {
    name: 'email',
    signs: false,
    confirmation: 'token',
    parseTarget: parseAddress,
    async invite({ subscription: { account, target, types }, path }, call) {
      const text = [
        `Somebody who signs for ${account} wants it to be told here of: ${types.join(', ')}.`,
        `To confirm, open this link within a day:\n\n${base}${path}`,
        'If it was not you, do nothing: you will not hear from us again.',
      ];
      const mail = { to: target, subject: 'Confirm your notifications', text: `${text.join('\n\n')}\n` };
      await send(mail, call).catch((failure) => {
        throw new Error(`no invitation was sent: ${failureOf(failure).error}`);
      });
      return undefined;
    },
    async deliver({ id, subscription: { target, account }, body }, call) {
      const { type, message, timestamp, metadata } = JSON.parse(body) as Notification; // rendered from one
      const { orderUid } = metadata;
      const order = typeof orderUid === 'string' ? `\nOrder: ${orderUid}` : '';
      const text = `${message}\n\nAccount: ${account}${order}\nTime: ${timestamp}\n`;
      try {
        await send(
          {
            to: target,
            subject: subjectOf(type),
            text,
            messageId: `<${id}@${domain}>`,
            // No answers by machines (RFC 3834).
            headers: { 'Auto-Submitted': 'auto-generated' },
          },
          call,
        );
      } catch (failure) {
        return failureOf(failure);
      }
      return { status: 'delivered' };
    },
  };
}

interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly messageId?: string;
  readonly headers?: Record<string, string>;
}

/** One plain address, no name and no list; its domain in the form that mail servers know. */
function parseAddress(text: string): string | undefined {
  const [, local, host] = /^([a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64})@([^@\s<>,;:"()[\]\\]{1,253})$/i.exec(text) ?? [];
  const domain = domainToASCII(host ?? '');
  if (local === undefined || !/^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(domain)) return undefined;
  return `${local}@${domain}`;
}

function subjectOf(type: string): string {
  const words = type.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What a mail server has said. Its words may name users and hosts, so that only their number is repeated. */
function failureOf(failure: unknown): Exclude<DeliveryResult, { status: 'delivered' }> {
  const { responseCode, response, command } = failure as { responseCode?: number; response?: string; command?: string }; // as nodemailer has it
  if (responseCode === undefined) return { status: 'failed', error: 'the mail server is out of reach' };
  const error = `the mail server answered ${responseCode}`;
  // There is no such mailbox (RFC 3463).
  const isGone = command === 'RCPT TO' && /^5\d\d[ -]5\.1\.[16]\b/.test(response ?? '');
  return { status: isGone ? 'gone' : 'failed', error };
}
