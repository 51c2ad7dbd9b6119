import { OrderBookError } from '../../errors.ts';
import { jsonResponse, rejectionResponse } from '../response.ts';
import type { Call, Route } from '../route.ts';
import { documentBodyLimit } from '../route.ts';

/** Uploads an app-data document (decision 2.19): 201 when it is new, 200 when it is known; its hash as a JSON string. */
export const putAppData: Route = {
  method: 'PUT',
  path: '/api/v1/app_data',
  bodyLimit: documentBodyLimit,
  handle: (call) => put(call),
};

/** The same, under the hash that the document must have (contract, "PUT /api/v1/app_data/{hash}"). */
export const putAppDataByHash: Route = {
  ...putAppData,
  path: '/api/v1/app_data/:hash',
  handle: (call) => put(call, call.param('hash')),
};

async function put({ book, body }: Call, hash?: string) {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new OrderBookError('InvalidBody', 'the body must be an object', { path: '' });
  }
  const { fullAppData } = body as { readonly fullAppData: string }; // whatever it is, `put` reads its shape
  const result = await book.appData.put(fullAppData, { hash });
  if (result.status === 'rejected') return rejectionResponse(result.error);
  return jsonResponse(result.status === 'stored' ? 201 : 200, result.hash);
}
