import { accountLink, code, copyable, descriptionList, element, note } from './elements.js';
import { short } from './format.js';
import { orderLink } from './order-table.js';

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a member of a value that may be anything. */
function member(value, ...names) {
  return names.reduce((each, name) => (isObject(each) ? each[name] : undefined), value);
}

/** Renders a value of an unknown type as text. Objects are rendered as JSON. */
function text(value) {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const ADDRESS = /^0x[0-9a-f]{40}$/i;

function address(value, prefix) {
  if (typeof value !== 'string' || !ADDRESS.test(value)) return text(value);
  return accountLink(value.toLowerCase(), prefix);
}

function bips(value) {
  return typeof value === 'number' ? `${value / 100} % (${value} bps)` : text(value);
}

function partnerFees(value, prefix) {
  const fees = (Array.isArray(value) ? value : [value]).filter(isObject);
  if (fees.length === 0) return text(value);
  return fees.map((fee) => {
    const rate = fee.bps ?? fee.volumeBps ?? fee.surplusBps ?? fee.priceImprovementBps;
    const basis =
      fee.surplusBps !== undefined
        ? ' of surplus'
        : fee.priceImprovementBps !== undefined
          ? ' of improvement'
          : ' of volume';
    return element('div', {}, bips(rate) ?? 'unknown', basis, ' to ', address(fee.recipient, prefix) ?? 'unknown');
  });
}

function hooks(value, prefix) {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return value.map((hook) =>
    element(
      'div',
      {},
      'calls ',
      address(member(hook, 'target'), prefix) ?? 'unknown',
      `, gas limit ${text(member(hook, 'gasLimit')) ?? 'unknown'}, `,
      code(short(text(member(hook, 'callData')) ?? '0x', 8), { title: text(member(hook, 'callData')) }),
    ),
  );
}

/** Parses a document. Undefined if it is not JSON. */
function parse(document) {
  try {
    return JSON.parse(document);
  } catch {
    return undefined;
  }
}

/**
 * Renders the app data of an order: the known members decoded, and the complete document. Any document is rendered,
 * since members may have any type.
 */
export function appData({ appData: hash, fullAppData }, prefix) {
  if (typeof fullAppData !== 'string') return [note('The document is not available.'), copyable(hash)];
  const document = parse(fullAppData);
  const metadata = member(document, 'metadata');
  const replaced = member(metadata, 'replacedOrder', 'uid');
  const list = descriptionList([
    ['App', text(member(document, 'appCode'))],
    ['Environment', text(member(document, 'environment'))],
    ['Version', text(member(document, 'version'))],
    ['Class', text(member(metadata, 'orderClass', 'orderClass'))],
    ['Slippage', bips(member(metadata, 'quote', 'slippageBips'))],
    [
      'Referrer',
      text(member(metadata, 'referrer', 'code')) ?? address(member(metadata, 'referrer', 'address'), prefix),
    ],
    ['Partner fee', partnerFees(member(metadata, 'partnerFee'), prefix)],
    ['Hooks before', hooks(member(metadata, 'hooks', 'pre'), prefix)],
    ['Hooks after', hooks(member(metadata, 'hooks', 'post'), prefix)],
    [
      'Replaces',
      typeof replaced === 'string' && /^0x[0-9a-f]{112}$/i.test(replaced)
        ? orderLink(replaced.toLowerCase(), prefix)
        : text(replaced),
    ],
    ['Hash', copyable(hash)],
  ]);
  const shown = document === undefined ? fullAppData : JSON.stringify(document, null, 2);
  return [list, element('details', {}, element('summary', {}, 'The document'), element('pre', { tabindex: 0 }, shown))];
}
