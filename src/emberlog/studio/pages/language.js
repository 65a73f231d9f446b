// Teaches the editor the words of Emberlog. The colours are those of every page. `datalog`, which stands before this
// script, reads them.
import * as CM from "nicegui-codemirror";

const language = CM.StreamLanguage.define(datalog);

// The editor's package does not give away the tags of colours, but its own style holds them.
const colours = { comment: "var(--faint)", string: "var(--green)", literal: "var(--blue)", keyword: "var(--ember)", atom: "var(--ember)" };
const found = {};
for (const spec of CM.defaultHighlightStyle.specs)
  for (const tag of [spec.tag].flat()) found[String(tag)] = tag;
const style = CM.HighlightStyle.define(
  Object.entries(colours).filter(([name]) => found[name]).map(([name, color]) => ({
    tag: found[name], color, ...(name === "comment" ? { fontStyle: "italic" } : {}),
  })),
);
const support = new CM.LanguageSupport(language, [CM.Prec.highest(CM.syntaxHighlighting(style))]);
CM.languages.push(CM.LanguageDescription.of({ name: "Emberlog", extensions: ["dl"], support }));
