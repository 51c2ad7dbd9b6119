export async function register() {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return; // it is also called for the edge runtime
  const { getHandler } = await import('./book.js');
  await getHandler();
}
