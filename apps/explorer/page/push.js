import { FILES, subscribe } from './api.js';
import { announce, element, note } from './elements.js';

/** Name under which the subscribed accounts are stored in this browser. */
const STORED = 'intentbook push';

const TYPES = [
  'order_filled',
  'order_expired',
  'order_cancelled',
  'order_partially_filled',
  'insufficient_balance',
  'price_improvement',
  'order_reverted',
];

/** Validity of the signature, in seconds. */
const VALIDITY = 600;

/**
 * Renders the control with which an account receives notifications in this browser. The account signs the
 * subscription with a wallet of the browser. Undefined if the server has no web push.
 */
export async function pushControl({ webPush }, address) {
  if (webPush === undefined) return undefined;
  const obstacle = findObstacle();
  if (obstacle !== undefined) return note(obstacle);
  const control = element('div', { class: 'push' });
  const show = async () => control.replaceChildren(...(await renderState(webPush, address, show)));
  await show();
  return control;
}

function findObstacle() {
  if (!('serviceWorker' in navigator) || !('PushManager' in window)) {
    return 'Notifications in the browser need a page over https and a browser with web push.';
  }
  if (Notification.permission === 'denied') return 'This browser blocks notifications of this page.';
  if (window.ethereum === undefined) {
    return 'Notifications in the browser need a wallet in the browser: the account signs the subscription.';
  }
  return undefined;
}

async function renderState(webPush, address, show) {
  const subscription = await currentSubscription();
  const isOn = subscription !== undefined && storedAccounts().includes(address);
  const problem = element('p', { role: 'alert' });
  const button = element('button', { type: 'button' }, isOn ? 'Turn off in this browser' : 'Notify me in this browser');
  button.addEventListener('click', async () => {
    button.disabled = true;
    problem.textContent = '';
    try {
      await (isOn ? turnOff(subscription) : turnOn(webPush, address));
      announce(isOn ? 'Notifications are off' : 'Notifications are on');
      await show();
    } catch (error) {
      problem.textContent = error.message ?? String(error);
      button.disabled = false;
    }
  });
  return [isOn && note('This browser shows the notifications of this account.'), button, problem].filter(Boolean);
}

async function currentSubscription() {
  const registration = await navigator.serviceWorker.getRegistration(FILES);
  return (await registration?.pushManager.getSubscription()) ?? undefined;
}

async function turnOn({ publicKey, domainName = 'Service Affiliate' }, address) {
  if ((await Notification.requestPermission()) !== 'granted') throw new Error('The browser permits no notifications.');
  const owned = await window.ethereum.request({ method: 'eth_requestAccounts' });
  if (!owned.some((each) => each.toLowerCase() === address)) throw new Error('The wallet does not have this account.');
  const registration = await activeRegistration();
  const key = { userVisibleOnly: true, applicationServerKey: publicKey };
  const target = JSON.stringify(await registration.pushManager.subscribe(key));
  await subscribe(address, await sign(domainName, address, target));
  storeAccounts([...new Set([...storedAccounts(), address])]);
}

/** Ends push in this browser. The push service then rejects the next message, and the server removes its entry. */
async function turnOff(subscription) {
  await subscription.unsubscribe();
  storeAccounts([]);
}

/** Registers the service worker and waits until it is active. `ready` resolves only for pages in its scope. */
async function activeRegistration() {
  const registration = await navigator.serviceWorker.register(`${FILES}worker.js`, { scope: FILES });
  const worker = registration.installing ?? registration.waiting ?? registration.active;
  while (worker.state !== 'activated') {
    if (worker.state === 'redundant') throw new Error('The service worker cannot be installed.');
    await new Promise((resolve) => worker.addEventListener('statechange', resolve, { once: true }));
  }
  return registration;
}

/** Signs a subscription with the wallet: EIP-712 in the affiliate domain. */
async function sign(domainName, account, target) {
  const random = crypto.getRandomValues(new Uint8Array(16));
  const nonce = String(random.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n));
  const deadline = Math.floor(Date.now() / 1000) + VALIDITY;
  const signed = { channel: 'webpush', target, types: TYPES, nonce, deadline };
  const field = (name, type) => ({ name, type });
  const data = {
    domain: { name: domainName, version: '1' },
    primaryType: 'Subscription',
    types: {
      EIP712Domain: [field('name', 'string'), field('version', 'string')],
      Subscription: [
        field('account', 'address'),
        field('channel', 'string'),
        field('target', 'string'),
        field('types', 'string[]'),
        field('nonce', 'uint256'),
        field('deadline', 'uint256'),
      ],
    },
    message: { ...signed, account, deadline: String(deadline) },
  };
  const signature = await window.ethereum.request({
    method: 'eth_signTypedData_v4',
    params: [account, JSON.stringify(data)],
  });
  return { ...signed, signature };
}

/** Returns the accounts whose notifications this browser receives. */
function storedAccounts() {
  try {
    const accounts = JSON.parse(localStorage.getItem(STORED));
    return Array.isArray(accounts) ? accounts : [];
  } catch {
    return [];
  }
}

function storeAccounts(accounts) {
  try {
    localStorage.setItem(STORED, JSON.stringify(accounts));
  } catch {
    // A browser that blocks storage only shows the button again.
  }
}
