// biome-ignore lint/style/noDefaultExport: Next.js requires it.
export default function Page() {
  return <a href="/sepolia/api/v1/version">The order book</a>;
}
