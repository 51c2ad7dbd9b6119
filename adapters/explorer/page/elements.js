/**
 * Makes an element. Text is always set as text, never read as markup: whatever an order carries stays inert.
 *
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes] `on…` adds a listener; `false`, `null` and `undefined` leave one out.
 * @param {...(Node | string | number | null | undefined | false)} children
 */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return node;
}

/** A list of terms and what they are. Terms without a description are left out. */
export function facts(entries) {
  const known = entries.filter(([, description]) => description !== undefined && description !== null);
  const rows = known.map(([term, description]) =>
    element('div', {}, element('dt', {}, term), element('dd', {}, ...[description].flat())),
  );
  return element('dl', { class: 'facts' }, ...rows);
}

export function section(title, ...children) {
  return element('section', {}, element('h2', {}, title), ...children);
}

export function quiet(text) {
  return element('p', { class: 'quiet' }, text);
}

/** A value with a button that copies the whole of it. */
export function copied(text, shown = text) {
  const button = element('button', { type: 'button', class: 'copy', 'aria-label': `Copy ${text}` }, 'copy');
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text);
    say('Copied');
    button.textContent = 'copied';
  });
  return element('span', { class: 'copied' }, typeof shown === 'string' ? code(shown) : shown, ' ', button);
}

export function code(text, attributes = {}) {
  return element('code', attributes, text);
}

/** Tells people who do not look at the screen. */
export function say(text) {
  document.getElementById('said').textContent = text;
}
