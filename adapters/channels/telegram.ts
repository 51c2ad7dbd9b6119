import type { Channel, ChannelHost } from 'intentbook';
import type { Notification } from 'intentbook/accounts';
import { assertKnownOptions, readResponseText } from '#internal';

/** Options of the Telegram channel. */
export interface TelegramOptions {
  /** Token of the bot. */
  readonly token: string;
  /** Name of the bot, for the link that starts it: `t.me/<name>?start=…`. */
  readonly bot: string;
  /** Base URL of the bot API. Default: `https://api.telegram.org`. */
  readonly api?: string;
  /** Whether to receive messages of users that start the bot. Only one process may do this. Default: true. */
  readonly listen?: boolean;
}

/** Timeout of a long poll, in seconds. */
const POLL_TIMEOUT = 25;
/** Maximum size of a response in bytes. A poll returns up to 100 updates. */
const MAX_BYTES = 8 * 1024 * 1024;
/** Delay after a failed request, in milliseconds. */
const RETRY_DELAY = 5_000;
/** Longest delay that the bot API may demand, in milliseconds. */
const MAX_RETRY_DELAY = 3_600_000;

/**
 * Creates a channel that sends messages by a Telegram bot. A subscription has no target: the response contains a link,
 * and the user that opens it and starts the bot receives the notifications.
 *
 * @throws TypeError for an unknown, missing or malformed option.
 */
export function telegramChannel(options: TelegramOptions): Channel {
  assertKnownOptions('telegramChannel', options, ['token', 'bot', 'api', 'listen']);
  const { token, bot, api = 'https://api.telegram.org', listen = true } = options;
  if (typeof token !== 'string' || token === '')
    throw new TypeError('telegramChannel: token must be the token of a bot');
  if (typeof bot !== 'string' || !/^[A-Za-z0-9_]{3,64}$/.test(bot)) {
    throw new TypeError('telegramChannel: bot must be the name of a bot');
  }
  if (!URL.canParse(api) || !/^https?:$/.test(new URL(api).protocol)) {
    throw new TypeError('telegramChannel: api must be an http or https URL');
  }
  let listening: AbortController | undefined;
  let loop: Promise<void> | undefined;

  async function request(method: string, body: object, signal: AbortSignal): Promise<BotResponse> {
    const response = await fetch(`${api}/bot${token}/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
      redirect: 'error',
    }).catch(() => {
      // The error may contain the URL of the request, which contains the token.
      throw new Error('the bot API is unreachable');
    });
    const { ok, status: error_code } = response;
    const text = await readResponseText(response, MAX_BYTES).catch(() => undefined);
    // A body that breaks off does not change the status: a message that was sent must not be sent again.
    if (text === undefined) return { ok, error_code };
    try {
      return { ok: false, error_code, ...(JSON.parse(text) as BotResponse | null) }; // the documented format
    } catch {
      return { ok: false, error_code };
    }
  }

  async function poll(host: ChannelHost, signal: AbortSignal): Promise<void> {
    let offset = 0;
    // A failure is reported when it first occurs, because it can last: a second process that polls ends each poll.
    let reported: string | undefined;
    while (!signal.aborted) {
      let delay = RETRY_DELAY;
      try {
        const query = { offset, timeout: POLL_TIMEOUT, allowed_updates: ['message'] };
        const { ok, result, error_code, parameters } = await request('getUpdates', query, signal);
        // A request before the end of this time may prolong it.
        delay = Math.max(delay, Math.min(Number(parameters?.retry_after) * 1000 || 0, MAX_RETRY_DELAY));
        if (!ok || !Array.isArray(result)) throw new Error(`the bot API responded with ${error_code}`);
        for (const { update_id, message } of result as Update[]) {
          const [, start] = /^\/start ([0-9a-f]{64})$/.exec(message?.text ?? '') ?? [];
          if (start !== undefined && message !== undefined) await host.confirm(start, String(message.chat.id));
          // The next request deletes the updates before the offset, so an update whose confirmation failed remains.
          offset = update_id + 1;
        }
        reported = undefined;
      } catch (failure) {
        if (signal.aborted) return;
        const reason = failure instanceof Error ? failure.message : String(failure);
        if (reason !== reported) host.report(failure);
        reported = reason;
        await pause(delay, signal);
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
      const { message } = JSON.parse(body) as Notification; // rendered from a notification
      const chat = { chat_id: subscription.target, text: message, link_preview_options: { is_disabled: true } };
      let response = await request('sendMessage', chat, signal);
      // A group that became a supergroup has a new id. The subscription keeps the old one, which leads to the new one.
      const moved = response.parameters?.migrate_to_chat_id;
      if (typeof moved === 'number')
        response = await request('sendMessage', { ...chat, chat_id: String(moved) }, signal);
      if (response.ok) return { status: 'delivered' };
      const error = `the bot API responded with ${response.error_code}`;
      // The user has blocked the bot, or the chat does not exist any more.
      if (response.error_code === 403 || isChatLost(response)) return { status: 'gone', error };
      const retryAfter = response.parameters?.retry_after;
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

/** Response of the bot API (core.telegram.org/bots/api). */
interface BotResponse {
  readonly ok: boolean;
  readonly result?: unknown;
  readonly error_code?: number;
  readonly description?: string;
  readonly parameters?: { readonly retry_after?: number; readonly migrate_to_chat_id?: number | null };
}

/** Errors of a chat that no message can reach any more. */
function isChatLost({ error_code, description = '' }: BotResponse): boolean {
  return error_code === 400 && /chat (not found|was deactivated)|user is deactivated|bot was kicked/i.test(description);
}

interface Update {
  readonly update_id: number;
  readonly message?: { readonly text?: string; readonly chat: { readonly id: number } };
}

function pause(delay: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, delay);
    timer.unref();
    signal.addEventListener('abort', end, { once: true });
  });
}
