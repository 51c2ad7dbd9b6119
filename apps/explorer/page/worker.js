// Service worker: shows notifications that the server has sent. It intercepts no requests and caches nothing.

const UID = /^0x[0-9a-f]{112}$/;

/** Creates a title from the type of a notification: `order_filled` is "Order filled". */
function titleOf(type) {
  const text = typeof type === 'string' ? type.replaceAll('_', ' ') : 'notification';
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function parseMessage(message) {
  try {
    return message.json() ?? {};
  } catch {
    return {};
  }
}

self.addEventListener('push', (event) => {
  const { id, type, data } = event.data === null ? {} : parseMessage(event.data);
  const shown = { body: String(data?.message ?? ''), icon: 'icon.svg', data: { uid: data?.metadata?.orderUid } };
  // A repeated message replaces the first one, since it has the same tag.
  const options = typeof id === 'string' ? { ...shown, tag: id } : shown;
  event.waitUntil(self.registration.showNotification(titleOf(type), options));
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const { uid } = event.notification.data ?? {};
  const page = self.registration.scope.replace(/\/$/, '');
  // The search finds the book of the order and opens it.
  const place = typeof uid === 'string' && UID.test(uid) ? `#/search?q=${uid}` : '';
  event.waitUntil(self.clients.openWindow(page + place));
});
