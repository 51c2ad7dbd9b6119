export type { EmailOptions } from './email.ts';
export { emailChannel } from './email.ts';
export type { TelegramOptions } from './telegram.ts';
export { telegramChannel } from './telegram.ts';
export type { WebPushOptions } from './web-push.ts';
export { webPushChannel } from './web-push.ts';
export type { WebhookOptions } from './webhook.ts';
export { webhookChannel } from './webhook.ts';
