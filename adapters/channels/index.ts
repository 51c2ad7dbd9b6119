export { type EmailOptions, emailChannel } from './email.ts';
export { type TelegramOptions, telegramChannel } from './telegram.ts';
export { type WebPushOptions, webPushChannel } from './web-push.ts';
export { type WebhookOptions, webhookChannel } from './webhook.ts';
