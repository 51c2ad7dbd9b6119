export type { TelegramOptions } from './telegram.ts';
export { telegramChannel } from './telegram.ts';
export type { WebhookOptions } from './webhook.ts';
export { webhookChannel } from './webhook.ts';
