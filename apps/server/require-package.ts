import { StoreError } from 'intentbook';
import { describePackageFailure } from '#internal';

/** Exact names of the optional packages that a server loads on behalf of a setting. */
export const OPTIONAL_PACKAGES = [
  'viem',
  'pino',
  'prom-client',
  'nodemailer',
  'web-push',
  'hyparquet-writer',
  '@nats-io/jetstream',
  '@nats-io/transport-node',
] as const;

/** A package that a setting needs is not installed, or does not load. */
export class MissingPackageError extends Error {
  override readonly name = 'MissingPackageError';

  constructor(setting: string, name: string, cause: unknown) {
    super(describePackageFailure(setting, name, cause), { cause });
  }
}

/** Codes of Node.js for a package that is missing, or whose native part does not load. */
const PACKAGE_ERRORS = ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND', 'ERR_DLOPEN_FAILED'];

/**
 * Loads an optional package.
 *
 * @param setting - The setting that needs it, for the message: `--metrics-port`.
 * @throws MissingPackageError with the command that installs or repairs it.
 */
export async function requirePackage<T>(
  setting: string,
  name: (typeof OPTIONAL_PACKAGES)[number],
  load: () => Promise<T>,
): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (error instanceof StoreError || !PACKAGE_ERRORS.includes(String(code))) throw error;
    throw new MissingPackageError(setting, name, error);
  }
}
