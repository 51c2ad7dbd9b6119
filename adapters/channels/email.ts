import { connect } from 'node:net';
import { domainToASCII } from 'node:url';
import type { Channel, ChannelCall, DeliveryResult } from 'intentbook';
import type { Notification } from 'intentbook/accounts';
import { assertKnownOptions, CHAINS, importPackage } from '#internal';

/** Options of the e-mail channel. */
export interface EmailOptions {
  /**
   * URL of the mail server: `smtps://user:password@mail.example.org`, or `smtp://…`, which uses STARTTLS if offered.
   * Default port: 465 for `smtps`, 587 for `smtp`.
   */
  readonly smtp: string;
  /** Sender address: `notifications@example.org`. */
  readonly from: string;
  /** Public URL of the account interface: `https://api.example.org`. Links in mails begin with it. */
  readonly publicUrl: string;
}

/**
 * Creates a channel that sends e-mail over SMTP. The target of a subscription is an address, which the recipient
 * confirms with a link in a mail. All attempts of a delivery have the same Message-ID. Requires the package nodemailer.
 *
 * @throws TypeError for an unknown, missing or malformed option. The message contains no secrets.
 */
export function emailChannel(options: EmailOptions): Channel {
  assertKnownOptions('emailChannel', options, ['smtp', 'from', 'publicUrl']);
  const { smtp, publicUrl } = options;
  const isServer = typeof smtp === 'string' && URL.canParse(smtp) && /^smtps?:\/\/[^/]/.test(smtp);
  if (!isServer) throw new TypeError('emailChannel: smtp must be an smtp or smtps URL');
  const from = parseAddress(options.from ?? '');
  if (from === undefined) throw new TypeError('emailChannel: from must be an e-mail address');
  // Paths are appended to it.
  if (!URL.canParse(publicUrl) || !/^https?:[^?#\s]*$/i.test(publicUrl)) {
    throw new TypeError('emailChannel: publicUrl must be an http or https URL without a query and a fragment');
  }
  const base = publicUrl.replace(/\/+$/, '');
  const domain = from.slice(from.lastIndexOf('@') + 1);
  // The URL of nodemailer's options has no default port.
  const defaultPort = smtp.startsWith('smtps:') ? 465 : 587;

  async function send(mail: Mail, { signal }: ChannelCall): Promise<void> {
    const { createTransport } = await loadMailer();
    signal.throwIfAborted();
    const transport = createTransport({
      url: smtp,
      // Closes the connection on abort, so that an abandoned mail cannot arrive after later ones.
      getSocket({ host = 'localhost', port = defaultPort }, callback) {
        if (signal.aborted) return callback(new Error('aborted'), false);
        const connection = connect({ host, port: Number(port) });
        const abort = () => void connection.destroy(new Error('aborted'));
        signal.addEventListener('abort', abort, { once: true });
        connection.once('close', () => signal.removeEventListener('abort', abort));
        connection.once('error', fail);
        connection.once('connect', () => {
          connection.off('error', fail);
          callback(null, { connection });
        });
        function fail(error: Error): void {
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
    // Mail servers ignore the case: other forms of an address would be further targets of the same person.
    parseTarget: (target) => parseAddress(target)?.toLowerCase(),
    async invite({ subscription: { account, target, types }, path }, call) {
      const text = [
        `The owner of ${account} requests notifications to this address: ${types.join(', ')}.`,
        `To confirm, open this page within a day and press its button:\n\n${base}${path}`,
        'If you did not request this, ignore this mail. You will receive no further mail.',
      ];
      const subject = 'Confirm your notifications';
      const mail = { to: target, subject, text: `${text.join('\n\n')}\n`, headers: AUTOMATIC };
      await loadMailer();
      await send(mail, call).catch((failure) => {
        throw new Error(`the invitation was not sent: ${toFailure(failure).error}`);
      });
      return undefined;
    },
    async deliver({ id, subscription: { target, account }, body, unsubscribePath }, call) {
      await loadMailer();
      const { type, message, timestamp, metadata } = JSON.parse(body) as Notification; // rendered from a notification
      const { orderUid, chainId } = metadata;
      const order = typeof orderUid === 'string' ? `\nOrder: ${orderUid}` : '';
      const chain = typeof chainId === 'number' ? `\nChain: ${formatChain(chainId)}` : '';
      const unsubscribe = unsubscribePath === undefined ? undefined : `${base}${unsubscribePath}`;
      const end = unsubscribe === undefined ? '' : `\nTo end these notifications, open: ${unsubscribe}\n`;
      const text = `${message}\n\nAccount: ${account}${order}${chain}\nTime: ${timestamp}\n${end}`;
      try {
        await send(
          {
            to: target,
            subject: formatSubject(type),
            text,
            messageId: `<${id}@${domain}>`,
            headers: { ...AUTOMATIC, ...createUnsubscribeHeaders(unsubscribe) },
          },
          call,
        );
      } catch (failure) {
        return toFailure(failure);
      }
      return { status: 'delivered' };
    },
  };
}

/** Loads the package. Its failure is not one of the mail server. */
const loadMailer = () => importPackage('emailChannel', 'nodemailer', () => import('nodemailer'));

interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly messageId?: string;
  readonly headers?: Record<string, string | { readonly prepared: true; readonly value: string }>;
}

/** Parses a plain address without a display name. The domain is converted to ASCII for mail servers. */
function parseAddress(text: string): string | undefined {
  const [, local, host] = /^([a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64})@([^@\s<>,;:"()[\]\\]{1,253})$/i.exec(text) ?? [];
  const domain = domainToASCII(host ?? '');
  if (local === undefined || !/^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(domain)) return undefined;
  return `${local}@${domain}`;
}

/** Prevents automatic replies (RFC 3834). */
const AUTOMATIC = { 'Auto-Submitted': 'auto-generated' };

/** Creates the headers with which mail programs offer to unsubscribe (RFC 2369, RFC 8058). */
function createUnsubscribeHeaders(url: string | undefined): NonNullable<Mail['headers']> {
  if (url === undefined) return {};
  // On one line, because some mail servers sign a header wrongly whose first line is empty.
  const link = { prepared: true, value: `<${url}>` } as const;
  return { 'List-Unsubscribe': link, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };
}

/** Formats a chain as its name in the paths of the protocol, if it has one, and its id: `xdai (100)`. */
function formatChain(chainId: number): string {
  const segment = CHAINS.find((chain) => chain.chainId === chainId)?.segment;
  return segment === undefined ? String(chainId) : `${segment} (${chainId})`;
}

function formatSubject(type: string): string {
  // Such a message also reports that what was reverted is on the chain again.
  if (type === 'order_reverted') return 'Order corrected';
  const words = type.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Converts an error. Only the status code of the mail server is kept, because its text may name users and hosts. */
function toFailure(failure: unknown): Extract<DeliveryResult, { readonly error: string }> {
  // Properties of nodemailer's errors.
  const { responseCode, response, command } = failure as { responseCode?: number; response?: string; command?: string };
  if (responseCode === undefined) return { status: 'failed', error: 'the mail server is unreachable' };
  const error = `the mail server responded with ${responseCode}`;
  return { status: isGone(command, response ?? '') ? 'gone' : 'failed', error };
}

/**
 * Enhanced status codes (RFC 3463) after which an address receives no mail any more. Others, such as those of full
 * mailboxes and of policies, may end or may concern the sender.
 */
const GONE: Readonly<Record<string, string>> = {
  '5.1.1': 'the mailbox does not exist',
  '5.1.3': 'the address is not valid',
  '5.1.6': 'the mailbox has moved, and no new address is known',
  '5.1.10': 'the domain accepts no mail (RFC 7505); Exchange Online: the mailbox does not exist',
  '5.2.1': 'the mailbox is disabled',
};

/** Codes without a meaning: "other status", of the message and of the address. */
const GENERIC = /^5\.[01]\.0$/;

/** Texts of servers without enhanced status codes, or with a generic one. */
const GONE_TEXT =
  /\b(no such (user|mailbox|recipient|person|account)|(user|mailbox|recipient) (is )?(unknown|not found)|unknown (user|recipient|mailbox)|(user|mailbox|recipient) does not exist)\b/i;

/** Returns whether the response to a recipient, or to the message, ends the subscription. */
function isGone(command: string | undefined, response: string): boolean {
  if (command !== 'RCPT TO' && command !== 'DATA') return false;
  const [, reply = '', code] = /^(5\d\d)[ -](?:(5\.\d{1,3}\.\d{1,3})\b)?/.exec(response) ?? [];
  if (code !== undefined && !GENERIC.test(code)) return code in GONE;
  return command === 'RCPT TO' && (reply === '550' || reply === '551') && GONE_TEXT.test(response);
}
