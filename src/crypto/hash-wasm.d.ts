/** Types of a bundle of hash-wasm, which has types for its main entry only. */
declare module 'hash-wasm/dist/keccak.umd.min.js' {
  const library: Pick<typeof import('hash-wasm'), 'createKeccak'>;
  // biome-ignore lint/style/noDefaultExport: a CommonJS module, as Node and bundlers import it
  export default library;
}
