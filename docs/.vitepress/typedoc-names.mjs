import { Converter } from 'typedoc';

/** Import path of each module whose folder has another name. */
const ENTRIES = {
  src: 'intentbook',
  'src/http/openapi': 'intentbook/openapi',
  'test/conformance': 'intentbook/testing',
};

/** Names the modules of the API reference by their import path. */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.children ?? []) {
      module.name = ENTRIES[module.name] ?? `intentbook/${module.name.split('/').at(-1)}`;
    }
  });
}
