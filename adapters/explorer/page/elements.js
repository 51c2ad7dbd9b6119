/**
 * Creates an element. Text is set as text and never parsed as markup, so that content of orders cannot run.
 *
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes] `on…` adds a listener; `false`, `null` and `undefined` are omitted.
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

/** Creates a description list. Terms without a description are omitted. */
export function descriptionList(entries) {
  const present = entries.filter(([, description]) => description !== undefined && description !== null);
  const rows = present.map(([term, description]) =>
    element('div', {}, element('dt', {}, term), element('dd', {}, ...[description].flat())),
  );
  return element('dl', { class: 'properties' }, ...rows);
}

export function section(title, ...children) {
  return element('section', {}, element('h2', {}, title), ...children);
}

export function note(text) {
  return element('p', { class: 'quiet' }, text);
}

/** Creates a value with a button that copies the complete value. */
export function copyable(text, shown = text) {
  const button = element('button', { type: 'button', class: 'copy', 'aria-label': `Copy ${text}` }, 'copy');
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text);
    announce('Copied');
    button.textContent = 'copied';
  });
  return element('span', { class: 'copied' }, typeof shown === 'string' ? code(shown) : shown, ' ', button);
}

export function code(text, attributes = {}) {
  return element('code', attributes, text);
}

/** Announces a text to screen readers. */
export function announce(text) {
  document.getElementById('announcement').textContent = text;
}
