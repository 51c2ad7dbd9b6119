import { getHandler } from '../../../book.js';

async function handle(request) {
  return (await getHandler())(request);
}

export const dynamic = 'force-dynamic';
export { handle as DELETE, handle as GET, handle as OPTIONS, handle as POST, handle as PUT };
