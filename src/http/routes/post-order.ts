import type { OrderCreation } from '../../orders/creation.ts';
import { jsonResponse, rejectionResponse } from '../response.ts';
import type { Route } from '../route.ts';
import { documentBodyLimit } from '../route.ts';

/** Submits a signed order (contract, "POST /api/v1/orders"): 201 and its UID as a JSON string. */
export const postOrder: Route = {
  method: 'POST',
  path: '/api/v1/orders',
  bodyLimit: documentBodyLimit,
  async handle({ book, body }) {
    const result = await book.orders.submit(body as OrderCreation); // whatever it is, `submit` reads its shape
    return result.status === 'accepted' ? jsonResponse(201, result.uid) : rejectionResponse(result.error);
  },
};
