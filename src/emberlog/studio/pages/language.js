// Teaches the editor the words of Emberlog. The colours are those of every page.
import * as CM from "nicegui-codemirror";

// RULES stands before this script: patterns, and how CodeMirror calls what they find.
const TOKENS = [
  [/^\/\/.*/, "comment"],
  [/^\/\*/, "block"],
  [/^(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)/, "string"],
  ...RULES.map(([pattern, kind]) => [new RegExp(pattern, "u"), kind]),
];

const language = CM.StreamLanguage.define({
  name: "Emberlog",
  languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } }, closeBrackets: { brackets: ["(", '"', "{"] } },
  startState: () => ({ inBlock: false }),
  token(stream, state) {
    if (state.inBlock) {
      if (stream.skipTo("*/")) { stream.match("*/"); state.inBlock = false; } else stream.skipToEnd();
      return "comment";
    }
    if (stream.sol() && stream.match(/\s*[%#].*/)) return "comment";
    if (stream.eatSpace()) return null;
    for (const [pattern, kind] of TOKENS) {
      if (!stream.match(pattern)) continue;
      if (kind === "block") { state.inBlock = true; return "comment"; }
      return kind;
    }
    stream.next();
    return null;
  },
});

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
