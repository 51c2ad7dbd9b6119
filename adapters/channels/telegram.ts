import type { Channel, ChannelHost, Notification } from 'intentbook';
import { assertKnownOptions } from '#internal';

/** The bot that sends messages. */
export interface TelegramOptions {
  /** The bot's token. */
  readonly token: string;
  /** The bot's name, for the link that starts it: `t.me/<name>?start=…`. */
  readonly bot: string;
  /** Where the bot API is. Default `https://api.telegram.org`. */
  readonly api?: string;
  /** Whether to listen for people who start the bot; of several processes one may. Default true. */
  readonly listen?: boolean;
}

/** Seconds that the API holds a question for news back. */
const POLL = 25;
/** Milliseconds to wait after a question that failed. */
const PAUSE = 5_000;

/**
 * A Telegram bot. A subscription names no target: whoever opens the link that it is answered with, and starts the bot, is told
 * from then on.
 *
 * @throws TypeError for an unknown option, or one that is missing.
 */
export function telegramChannel(options: TelegramOptions): Channel {
  assertKnownOptions('telegramChannel', options, ['token', 'bot', 'api', 'listen']);
  const { token, bot, api = 'https://api.telegram.org', listen = true } = options;
  if (typeof token !== 'string' || token === '') throw new TypeError('telegramChannel: the token of a bot is required');
  if (!/^[A-Za-z0-9_]{3,64}$/.test(bot)) throw new TypeError('telegramChannel: the name of a bot is required');
  let listening: AbortController | undefined;
  let loop: Promise<void> | undefined;

  async function ask(method: string, body: object, signal: AbortSignal): Promise<Answer> {
    const response = await fetch(`${api}/bot${token}/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
      redirect: 'error',
    }).catch(() => {
      // The URL of the request, which a failure may name, has the token in it.
      throw new Error('the bot API is out of reach');
    });
    return (await response.json().catch(() => ({ ok: false, error_code: response.status }))) as Answer; // as documented
  }

  async function poll(host: ChannelHost, signal: AbortSignal): Promise<void> {
    let offset = 0;
    while (!signal.aborted) {
      try {
        const answer = await ask('getUpdates', { offset, timeout: POLL, allowed_updates: ['message'] }, signal);
        if (!answer.ok || !Array.isArray(answer.result)) throw new Error(`the bot API answered ${answer.error_code}`);
        for (const { update_id, message } of answer.result as Update[]) {
          offset = update_id + 1;
          const [, start] = /^\/start ([0-9a-f]{64})$/.exec(message?.text ?? '') ?? [];
          if (start !== undefined && message !== undefined) await host.confirm(start, String(message.chat.id));
        }
      } catch (failure) {
        if (signal.aborted) return;
        host.report(failure);
        await pause(signal);
      }
    }
  }

  return {
    name: 'telegram',
    signs: false,
    confirmation: 'token',
    parseTarget: (target) => (target === '' ? target : undefined),
    invite: async ({ token: start }) => `https://t.me/${bot}?start=${start}`,
    async deliver({ subscription, body }, { signal }) {
      const { message } = JSON.parse(body) as Notification; // rendered from one
      const chat = { chat_id: subscription.target, text: message, link_preview_options: { is_disabled: true } };
      const answer = await ask('sendMessage', chat, signal);
      if (answer.ok) return { status: 'delivered' };
      const error = `the bot API answered ${answer.error_code}`;
      // Blocked by its user, or the chat is no more.
      if (answer.error_code === 403) return { status: 'gone', error };
      const retryAfter = answer.parameters?.retry_after;
      return { status: 'failed', error, ...(retryAfter === undefined ? {} : { retryAfter }) };
    },
    start(host) {
      if (!listen || listening !== undefined) return;
      listening = new AbortController();
      loop = poll(host, listening.signal);
    },
    async stop() {
      listening?.abort();
      await loop;
      listening = undefined;
    },
  };
}

/** What the bot API answers (core.telegram.org/bots/api). */
interface Answer {
  readonly ok: boolean;
  readonly result?: unknown;
  readonly error_code?: number;
  readonly parameters?: { readonly retry_after?: number };
}

interface Update {
  readonly update_id: number;
  readonly message?: { readonly text?: string; readonly chat: { readonly id: number } };
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, PAUSE);
    timer.unref();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
