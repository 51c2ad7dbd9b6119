import { readFileSync } from 'node:fs';
import { Comment, Converter } from 'typedoc';

/** Import path of each module whose folder has another name. */
const ENTRIES = {
  src: 'intentbook',
  'src/http/openapi': 'intentbook/openapi',
  'test/conformance': 'intentbook/testing',
};

/** The content of each module, from the table of entry points. */
const pages = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const CONTENT = new Map(
  [...pages.matchAll(/^\| `(intentbook[\w/-]*)` \| (.+) \|$/gm)].map(([, name, text]) => [name, text]),
);

/** Names the modules of the API reference by their import path, and describes them. */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.children ?? []) {
      module.name = ENTRIES[module.name] ?? `intentbook/${module.name.split('/').at(-1)}`;
      module.comment = new Comment([{ kind: 'text', text: CONTENT.get(module.name) ?? '' }]);
    }
  });
}
