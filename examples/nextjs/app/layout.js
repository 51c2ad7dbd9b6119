// biome-ignore lint/style/noDefaultExport: Next.js requires it.
export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
