import { lstatSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';

/** Returns whether a host is the path of a socket file: it contains a slash. */
export const isSocketFile = (host: string): boolean => host.includes('/');

/**
 * Removes a socket file that no process listens on any more, as after `kill -9`. Other files stay, so that listening
 * fails.
 */
export async function removeStaleSocket(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSocket() !== true) return;
  const isStale = await new Promise<boolean>((resolve) => {
    const socket = connect({ path }, () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
  // Another process may have replaced the file by its own since.
  const { ino, ctimeMs } = lstatSync(path, { throwIfNoEntry: false }) ?? {};
  if (isStale && ino === found.ino && ctimeMs === found.ctimeMs) unlinkSync(path);
}
