export type { OrderBookClient } from './client.ts';
export { createClient } from './client.ts';
export type { ClientOptions } from './http.ts';
export { RequestError } from './http.ts';
export type { Mirror, MirrorFilter, MirrorOptions } from './mirror.ts';
