/**
 * Describes why an optional package cannot be used: it is missing, or it is installed and does not load, for example
 * because its native part was built for another runtime.
 *
 * @param subject - What requires the package.
 * @param name - Name of the package.
 * @param cause - The error of the import.
 */
export function describePackageFailure(subject: string, name: string, cause: unknown): string {
  if (isPackageMissing(name, cause)) return `${subject} requires the package ${name}: npm install ${name}`;
  const [reason = ''] = (cause instanceof Error ? cause.message : String(cause)).split('\n');
  return (
    `${subject} requires the package ${name}, which is installed, but does not load: ${reason}; ` +
    `run "npm rebuild ${name}", or allow its install script`
  );
}

/**
 * Imports an optional package.
 *
 * @throws Error with the reason of {@link describePackageFailure}, and the error of the import as its `cause`.
 */
export async function importPackage<T>(subject: string, name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw new Error(describePackageFailure(subject, name, cause), { cause });
  }
}

/** Returns whether an import failed because a package is not installed. A package that it requires may be missing. */
export function isPackageMissing(name: string, cause: unknown): boolean {
  const { message } = Object(cause) as { readonly message?: unknown };
  // Plug'n'Play of Yarn has its own text.
  const text = `cannot find (?:package|module) ['"]${name}['"/]|tried to access ${name}[, ]`;
  return new RegExp(text, 'i').test(String(message));
}
