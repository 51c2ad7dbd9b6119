/** Memory of response bodies, which is used again after the response was sent. */
export type ResponseMemory = ReturnType<typeof createResponseMemory>;

/**
 * Size of the smallest body that is used again, in bytes. Larger sizes are rounded up to a multiple of it, so that
 * bodies of different lengths fit.
 */
const UNIT = 32 * 1024;

/** Size of the largest body that is used again, in bytes. */
const MAX_SIZE = 512 * 1024;

/** Number of unused bodies that are kept. */
const MAX_UNUSED = 8;

/**
 * Creates memory for large bodies. To provide fresh memory of 150 kB takes the operating system longer than to fill it
 * takes a copy.
 */
export function createResponseMemory() {
  const unused: ArrayBufferLike[] = [];

  return {
    /** Returns bytes that the caller overwrites completely. */
    allocate(size: number): Uint8Array {
      if (size < UNIT || size > MAX_SIZE) return Buffer.allocUnsafeSlow(size);
      const index = unused.findIndex(({ byteLength }) => byteLength >= size);
      const [found] = index < 0 ? [] : unused.splice(index, 1);
      return new Uint8Array(found ?? Buffer.allocUnsafeSlow(Math.ceil(size / UNIT) * UNIT).buffer, 0, size);
    },
    /** Takes allocated bytes back. No code may read them afterwards. */
    release({ buffer }: Uint8Array): void {
      if (buffer.byteLength < UNIT || buffer.byteLength > MAX_SIZE) return;
      if (unused.length === MAX_UNUSED) unused.shift();
      unused.push(buffer);
    },
  };
}
