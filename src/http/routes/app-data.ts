import { OrderBookError } from '../../errors.ts';
import { READ, WRITE } from '../cost.ts';
import { type ApiResponse, jsonResponse, rejectionResponse } from '../message.ts';
import { type Call, documentBodyLimit, type Route } from '../route.ts';

/** Stores an app-data document. Responds 201 if it is new, 200 if it is known, with its hash as a JSON string. */
const putDocument: Route = {
  method: 'PUT',
  path: '/api/v1/app_data',
  cost: WRITE,
  bodyLimit: documentBodyLimit,
  handle: (call) => storeDocument(call),
};

/** Stores an app-data document under the hash that it must have. */
const putDocumentByHash: Route = {
  ...putDocument,
  path: '/api/v1/app_data/:hash',
  handle: (call) => storeDocument(call, call.param('hash')),
};

/**
 * Returns the document with a hash. The response can be cached without limit, since the hash identifies the content.
 */
const getDocument: Route = {
  method: 'GET',
  path: '/api/v1/app_data/:hash',
  cost: READ,
  async handle({ book, param }) {
    const hash = param('hash');
    const fullAppData = await book.appData.get(hash);
    if (fullAppData === undefined) {
      throw new OrderBookError('NotFound', 'there is no document with this hash', { hash });
    }
    return jsonResponse(200, { fullAppData }, { 'cache-control': 'public, max-age=31536000, immutable' });
  },
};

export const APP_DATA_ROUTES: readonly Route[] = [putDocument, putDocumentByHash, getDocument];

async function storeDocument({ book, body }: Call, hash?: string): Promise<ApiResponse> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new OrderBookError('InvalidBody', 'the body must be an object', { path: '' });
  }
  const { fullAppData } = body as { readonly fullAppData: string }; // `put` validates the type
  const result = await book.appData.put(fullAppData, { hash });
  if (result.status === 'rejected') return rejectionResponse(result.error);
  return jsonResponse(result.status === 'stored' ? 201 : 200, result.hash);
}
