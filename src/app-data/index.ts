/**
 * App-data documents: their upload, reads, and search at another source.
 *
 * @module
 */

export { type AppDataApi, createAppData } from './app-data-api.ts';
export { createDocumentPolicy } from './document-policy.ts';
export type { PutDocumentOptions, PutDocumentResult } from './put.ts';
