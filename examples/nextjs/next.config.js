// The package loads optional packages at run time, so it is not bundled.
// biome-ignore lint/style/noDefaultExport: Next.js requires it.
export default { serverExternalPackages: ['intentbook'] };
