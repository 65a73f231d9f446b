// Gives cells that begin with %%datalog, and .dl files, the colours of Datalog.
const MIME = "text/x-datalog";
const CELL = /^\s*%%datalog\b/;

export function plugin(datalog, { IEditorLanguageRegistry }, { INotebookTracker }, { LanguageSupport, StreamLanguage }) {
  return {
    id: "emberlog:datalog",
    description: "Colours of Datalog in cells of %%datalog and in .dl files",
    autoStart: true,
    requires: [IEditorLanguageRegistry, INotebookTracker],
    activate(_app, languages, notebooks) {
      const support = new LanguageSupport(StreamLanguage.define(datalog));
      languages.addLanguage({ name: datalog.name, mime: MIME, extensions: ["dl"], support });
      notebooks.widgetAdded.connect((_tracker, panel) => panel.context.ready.then(() => watch(panel.content)));
      notebooks.forEach((panel) => panel.context.ready.then(() => watch(panel.content)));
    },
  };
}

function watch(notebook) {
  const known = new WeakSet();
  const look = (cell) => {
    if (cell.type !== "code") return;
    const isDatalog = CELL.test(cell.sharedModel.getSource());
    // The notebook gives all cells the language of its kernel, whenever it hears of it: so this is done again then.
    if (isDatalog !== (cell.mimeType === MIME)) cell.mimeType = isDatalog ? MIME : notebook.codeMimetype;
  };
  const meet = () => {
    for (const cell of notebook.model?.cells ?? []) {
      if (known.has(cell)) continue;
      known.add(cell);
      cell.contentChanged.connect(look);
      cell.mimeTypeChanged.connect(look);
      look(cell);
    }
  };
  const begin = () => {
    notebook.model?.cells.changed.connect(meet);
    meet();
  };
  notebook.modelChanged.connect(begin);
  begin();
}
