import { lstat, unlink } from 'node:fs/promises';
import { connect } from 'node:net';

/** Returns whether a host is the path of a socket file: it contains a slash. */
export const isSocketFile = (host: string): boolean => host.includes('/');

/**
 * Removes a socket file that no process listens on any more, as after `kill -9`. Other files stay, so that listening
 * fails.
 */
export async function removeStaleSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSocket() !== true) return;
  const isStale = await new Promise<boolean>((resolve) => {
    const socket = connect({ path }, () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
  if (isStale) await unlink(path);
}
