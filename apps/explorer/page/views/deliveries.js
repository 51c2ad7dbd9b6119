import { readDeliveries, replayDeliveries } from '../api.js';
import { accountLink, element, note, section, table } from '../elements.js';

/** Renders dead deliveries with a button that retries them, for operators. The token is not stored. */
export async function deliveries({ prefix, signal, site }) {
  const title = element('h1', {}, 'Deliveries');
  if (!site.accounts) return [title, note('This server has no account interface, which makes deliveries.')];
  const token = element('input', { type: 'password', autocomplete: 'off' });
  const list = element('div', { role: 'status' });

  /** Reads the dead deliveries again, after a change if there is one. */
  async function show(change) {
    try {
      await change?.();
      list.replaceChildren(...render(await readDeliveries(token.value, signal)));
    } catch (error) {
      list.replaceChildren(note(error.message));
    }
  }

  const retryButton = (label, seq) =>
    element('button', { type: 'button', onclick: () => show(() => replayDeliveries(token.value, seq, signal)) }, label);

  function render(dead) {
    if (dead.length === 0) return [note('No delivery is dead.')];
    const rows = dead.map(({ seq, account, channel, attempts, error }) => [
      String(seq),
      accountLink(account, prefix),
      channel,
      String(attempts),
      error ?? '–',
      retryButton('Retry', seq),
    ]);
    const heads = ['Number', 'Account', 'Channel', 'Attempts', 'Last error', 'Retry'];
    return [retryButton('Retry all'), table('Dead deliveries', heads, rows)];
  }

  const submit = (event) => {
    event.preventDefault();
    void show();
  };
  const form = element(
    'form',
    { onsubmit: submit },
    element('label', {}, 'Operator token ', token),
    ' ',
    element('button', { type: 'submit' }, 'Show'),
  );
  return [
    title,
    note('Deliveries of notifications that failed in all attempts.'),
    form,
    section('Dead deliveries', list),
  ];
}
