import { StoreError } from 'intentbook';

/** Exact names of the packages that a server may need. */
type OptionalPackage = 'viem' | 'pino' | 'prom-client' | 'nodemailer' | 'web-push' | 'hyparquet-writer';

/** A package that a setting needs is not installed. */
export class MissingPackageError extends Error {
  override readonly name = 'MissingPackageError';

  constructor(setting: string, name: string, cause: unknown) {
    super(`${setting} requires the package ${name}: npm install ${name}`, { cause });
  }
}

/**
 * Loads an optional package.
 *
 * @param setting - The setting that needs it, for the message: `--metrics-port`.
 * @throws MissingPackageError with the command that installs it.
 */
export async function requirePackage<T>(setting: string, name: OptionalPackage, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (error instanceof StoreError || code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new MissingPackageError(setting, name, error);
  }
}
