/** Minimal declaration: decryption of a message that was encrypted for a browser (RFC 8188, RFC 8291). */
declare module 'http_ece' {
  import type { ECDH } from 'node:crypto';
  export function decrypt(
    body: Buffer,
    options: { version: 'aes128gcm'; privateKey: ECDH; authSecret: string },
  ): Buffer;
}
