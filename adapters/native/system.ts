import type { RecoveryBackend } from 'intentbook';
import type { LibraryHandle } from 'koffi';
import { bytesToHex, hexToBytes, importPackage } from '#internal';

/** Names of the library in its releases with public-key recovery: 0.8 to 0.1, then those without a version. */
const LIBRARIES: readonly string[] = [
  ...[7, 6, 5, 2, 1, 0].flatMap((abi) => [
    `libsecp256k1.so.${abi}`,
    `libsecp256k1.${abi}.dylib`,
    `libsecp256k1-${abi}.dll`,
  ]),
  '/opt/homebrew/lib/libsecp256k1.dylib', // Homebrew on Apple silicon, whose folder is not searched
];

/** `SECP256K1_CONTEXT_VERIFY`, which releases since 0.2 accept and no longer need. */
const CONTEXT_VERIFY = 0x101;
/** `SECP256K1_EC_UNCOMPRESSED`. */
const UNCOMPRESSED = 2;

const DIGEST = '0x3d02388749ba04a05709e959be8c1465112c73903d1253f9473f0f48e25f9003';
/** x of the generator G. */
const X_OF_G = '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';

/**
 * Signatures and their public keys: G and 2G (SEC 2, section 2.4.1), signed with the private keys 1 and 2; an r that is
 * the x of no point; and a key that would be the point at infinity.
 */
const VECTORS = [
  {
    digest: DIGEST,
    rs: '0x3d688bbf8580283aebfdd990fdcbfbe7385476ce22460f9fcb139b335b2c2fca605f8c904d628bc5a9c257d229ba2d374d6f7bf515e41f125703055ba287a8f3',
    recoveryId: 0,
    key: `0x04${X_OF_G}483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8`,
  },
  {
    digest: DIGEST,
    rs: '0x3d2e7bed9b10c804e0550c07c3d1b3558f27aa88f9d29d61f9e30c634a360e2e7f86e49adc76b40b2826376660ac3f55acfe79e4a0fa376b087188145587b81f',
    recoveryId: 1,
    key: '0x04c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee51ae168fea63dc339a3c58419466ceaeef7f632653266d0e1236431a950cfe52a',
  },
  { digest: DIGEST, rs: `0x${'5'.padStart(64, '0')}${'1'.padStart(64, '0')}`, recoveryId: 0, key: undefined },
  { digest: `0x${'7'.padStart(64, '0')}`, rs: `0x${X_OF_G}${'7'.padStart(64, '0')}`, recoveryId: 0, key: undefined },
] as const;

/**
 * Creates a recovery backend on the libsecp256k1 of the system, which is newer and faster than that of the package
 * secp256k1. Requires the package koffi, and the library with its recovery module: `apt install libsecp256k1-1`, for
 * example. Before it is used, the library must return the known results of signatures with and without a key.
 *
 * @param library - File of the library. Default: the newest of the names that the system's linker finds.
 * @throws Error if the package or the library is not installed, or if the library returns another result.
 */
export async function systemRecovery(library?: string): Promise<RecoveryBackend> {
  const { load } = await importPackage('system recovery', 'koffi', () => import('koffi'));
  const failures: unknown[] = [];
  for (const file of library === undefined ? LIBRARIES : [library]) {
    try {
      const backend = createBackend(load(file));
      assertVectors(backend);
      return backend;
    } catch (failure) {
      failures.push(failure);
    }
  }
  throw new Error('system recovery requires libsecp256k1 with its recovery module', { cause: failures.at(-1) });
}

function createBackend(library: LibraryHandle): RecoveryBackend {
  const name = 'secp256k1_ecdsa_recoverable_signature_parse_compact';
  const parse = library.func(`int ${name}(void *context, uint8_t *signature, uint8_t *rs, int recoveryId)`);
  const recover = library.func(
    'int secp256k1_ecdsa_recover(void *context, uint8_t *key, uint8_t *signature, uint8_t *digest)',
  );
  const serialize = library.func(
    'int secp256k1_ec_pubkey_serialize(void *context, uint8_t *output, size_t *size, uint8_t *key, unsigned int flags)',
  );
  const context: unknown = library.func('void *secp256k1_context_create(unsigned int flags)')(CONTEXT_VERIFY);
  // The sizes of both objects are part of the interface of the library.
  const signature = new Uint8Array(65);
  const point = new Uint8Array(64);
  return {
    name: 'system',
    recover(digest, rs, recoveryId) {
      // The library reads these bytes without knowing the sizes of the arrays.
      if (digest.length !== 32 || rs.length !== 64) {
        throw new TypeError(
          `the digest and the signature must have 32 and 64 bytes, got ${digest.length}, ${rs.length}`,
        );
      }
      if (parse(context, signature, rs, recoveryId) !== 1) return undefined;
      if (recover(context, point, signature, digest) !== 1) return undefined;
      const key = new Uint8Array(65);
      serialize(context, key, [key.length], point, UNCOMPRESSED);
      return key;
    },
  };
}

function assertVectors(backend: RecoveryBackend): void {
  for (const { digest, rs, recoveryId, key } of VECTORS) {
    const found = backend.recover(hexToBytes(digest), hexToBytes(rs), recoveryId);
    if ((found && bytesToHex(found)) !== key) throw new Error(`the library must recover the key ${key} of ${rs}`);
  }
}
