import { StoreError } from 'intentbook';
import { formatError } from '#internal';
import { SERVER_SETTINGS } from '../../server/settings/server-settings.ts';

const { default: DEFAULT_PORT } = SERVER_SETTINGS.port;
const { default: DEFAULT_HOST } = SERVER_SETTINGS.host;

/** Formats why a server could not start, in one line, with a remedy if one is known. */
export function failureText(error: unknown, options: { port?: number | undefined; host?: string | undefined }): string {
  if (error instanceof StoreError) return getReason(error);
  // The port and the address that failed: those of the server, or of its metrics.
  const {
    port = options.port ?? DEFAULT_PORT,
    hostname,
    address = hostname,
  } = error as {
    readonly port?: number;
    readonly address?: string;
    readonly hostname?: string; // of a failed lookup
  }; // system errors have these members
  const host = address ?? options.host ?? DEFAULT_HOST;
  switch (getCode(error)) {
    case 'EADDRINUSE':
      return `port ${port} of ${host} is in use; select another with --port or --metrics-port, 0 for any free one`;
    case 'EACCES':
      return `this user may not listen on port ${port} of ${host}; select one above 1023`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `"${host}" is not an address of this machine; select one with --host or --metrics-host, such as 127.0.0.1`;
    default:
      return getReason(error);
  }
}

/** Whether the operating system has reported an error: a stack would not explain it. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

/** Formats the message of an error in one line. */
export function getReason(error: unknown): string {
  if (isSystemError(error) && error.syscall === 'uv_cwd') return 'the current directory was removed; change to another';
  return oneLine(error instanceof Error ? error.message : formatError(error));
}

function getCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ');
}
