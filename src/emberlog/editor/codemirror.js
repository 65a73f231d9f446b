// Reads a program word by word, for editors that are made of CodeMirror. RULES stands before it: patterns, and how
// CodeMirror calls what they find.
const TOKENS = [
  [/^\/\/.*/, "comment"],
  [/^\/\*/, "block"],
  [/^(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)/, "string"],
  ...RULES.map(([pattern, kind]) => [new RegExp(pattern, "u"), kind]),
];

const datalog = {
  name: "Datalog",
  languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } }, closeBrackets: { brackets: ["(", '"', "{"] } },
  startState: () => ({ inBlock: false }),
  token(stream, state) {
    if (state.inBlock) {
      if (stream.skipTo("*/")) { stream.match("*/"); state.inBlock = false; } else stream.skipToEnd();
      return "comment";
    }
    if (stream.sol() && stream.match(/%%datalog\b.*/)) return "meta"; // the first line of a cell
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
};
