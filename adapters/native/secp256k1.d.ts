/** Types of a package without types. */
declare module 'secp256k1/bindings.js' {
  const bindings: {
    ecdsaRecover(rs: Uint8Array, recoveryId: number, digest: Uint8Array, compressed: false): Uint8Array;
  };
  // biome-ignore lint/style/noDefaultExport: a CommonJS module, as Node imports it
  export default bindings;
}
