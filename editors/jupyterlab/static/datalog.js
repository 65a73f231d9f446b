// Written by docs/generate.py.
const RULES = [["^(?:`[^`\\n]*`)", "variableName"], ["^(?:\\d+(?:_\\d+)*(?:\\.\\d+(?:_\\d+)*)?m\\b)", "number"], ["^(?:\\d+(?:_\\d+)*\\.\\d+(?:_\\d+)*(?:[eE][+-]?\\d+)?|\\d+[eE][+-]?\\d+)", "number"], ["^(?:0[xX][0-9a-fA-F]+(?:_[0-9a-fA-F]+)*|0[bB][01]+(?:_[01]+)*)", "number"], ["^(?:\\d+(?:_\\d+)*)", "number"], ["^(?:\\$[\\p{L}_][\\p{L}\\p{N}_]*)", "atom"], ["^(?:(@)(premappable|iterations)\\b)", "keyword"], ["^(?:(?:[fF][aA][lL][sS][eE]|[nN][uU][lL][lL]|[tT][rR][uU][eE])\\b)", "keyword"], ["^(?:(:)(\\s*)((?:[uU][nN][sS][iI][gG][nN][eE][dD]32|[tT][iI][mM][eE][sS][tT][aA][mM][pP]|[dD][uU][rR][aA][tT][iI][oO][nN]|[uU][nN][sS][iI][gG][nN][eE][dD]|[bB][oO][oO][lL][eE][aA][nN]|[dD][eE][cC][iI][mM][aA][lL]|[iI][nN][tT][eE][gG][eE][rR]|[dD][oO][uU][bB][lL][eE]|[nN][uU][mM][bB][eE][rR]|[sS][tT][rR][iI][nN][gG]|[sS][yY][mM][bB][oO][lL]|[fF][lL][oO][aA][tT]|[iI][nN][tT]32|[bB][oO][oO][lL]|[dD][aA][tT][eE]|[lL][oO][nN][gG]|[iI][nN][tT]))\\b(?!\\s*\"|\\())", "keyword"], ["^(?:(?:[dD][eE][cC][iI][mM][aA][lL])\\b(?=\\(\\d+\\s*(?:,\\s*\\d+\\s*)?\\)(?:\\s*[,)]|\\s+[\\p{L}_])))", "keyword"], ["^(?:(?:[uU][nN][sS][iI][gG][nN][eE][dD]32|[tT][iI][mM][eE][sS][tT][aA][mM][pP]|[dD][uU][rR][aA][tT][iI][oO][nN]|[uU][nN][sS][iI][gG][nN][eE][dD]|[bB][oO][oO][lL][eE][aA][nN]|[iI][nN][tT][eE][gG][eE][rR]|[dD][oO][uU][bB][lL][eE]|[nN][uU][mM][bB][eE][rR]|[sS][tT][rR][iI][nN][gG]|[sS][yY][mM][bB][oO][lL]|[fF][lL][oO][aA][tT]|[iI][nN][tT]32|[bB][oO][oO][lL]|[dD][aA][tT][eE]|[lL][oO][nN][gG]|[iI][nN][tT])\\b(?=\\s+(?!(?:[aA][gG][gG][rR][eE][gG][aA][tT][eE]|[bB][eE][tT][wW][eE][eE][nN]|[lL][iI][kK][eE]|[aA][nN][dD]|[dD][iI][vV]|[mM][oO][dD]|[nN][oO][tT]|[iI][nN]|[oO][rR])\\b)[\\p{L}_][\\p{L}\\p{N}_]*(?:\\s*[,)]|\\s+(?:[aA][gG][gG][rR][eE][gG][aA][tT][eE])\\b)))", "keyword"], ["^(?:(?:[dD][aA][tT][eE]|[tT][iI][mM][eE][sS][tT][aA][mM][pP])\\b(?=\\s*\"))", "keyword"], ["^(?:(?:[dD][eE][cC][lL][aA][rR][eE]|[sS][tT][rR][eE][aA][mM]|[rR][eE][lL][aA][tT][iI][oO][nN]|[qQ][uU][eE][rR][yY])\\b(?=\\s+(?:[\\p{L}_][\\p{L}\\p{N}_]*|`)))", "keyword"], ["^(?:(?:[tT][yY][pP][eE])\\b(?=\\s+[\\p{L}_][\\p{L}\\p{N}_]*\\s*(?:=|<:)))", "keyword"], ["^(?:(?:[wW][iI][nN][dD][oO][wW])\\b(?=\\s*\\())", "keyword"], ["^(?:((?:[aA][gG][gG][rR][eE][gG][aA][tT][eE]))(\\s+)([\\p{L}_][\\p{L}\\p{N}_]*))", "variableName"], ["^(?:(?:BETWEEN|between|LIKE|like|AND|DIV|MOD|NOT|and|div|mod|not|IN|OR|in|or)\\b(?!\\s*:(?!-)))", "keyword"], ["^(?:(?:[cC][oO][uU][nN][tT]_[dD][iI][sS][tT][iI][nN][cC][tT]|[sS][uU][mM]_[dD][iI][sS][tT][iI][nN][cC][tT]|[cC][oO][lL][lL][eE][cC][tT]|[aA][rR][gG][mM][aA][xX]|[aA][rR][gG][mM][iI][nN]|[bB][oO][tT][tT][oO][mM]|[cC][oO][uU][nN][tT][dD]|[mM][cC][oO][uU][nN][tT]|[mM][eE][dD][iI][aA][nN]|[cC][oO][uU][nN][tT]|[mM][mM][aA][xX]|[mM][mM][iI][nN]|[mM][sS][uU][mM]|[sS][uU][mM][dD]|[aA][lL][lL]|[aA][nN][yY]|[aA][vV][gG]|[mM][aA][xX]|[mM][iI][nN]|[sS][uU][mM]|[tT][oO][pP])(?=<(?![-=>])))", "variableName"], ["^(?:(?:[cC][oO][uU][nN][tT]_[dD][iI][sS][tT][iI][nN][cC][tT]|[sS][uU][mM]_[dD][iI][sS][tT][iI][nN][cC][tT]|[cC][oO][lL][lL][eE][cC][tT]|[aA][rR][gG][mM][aA][xX]|[aA][rR][gG][mM][iI][nN]|[bB][oO][tT][tT][oO][mM]|[cC][oO][uU][nN][tT][dD]|[mM][cC][oO][uU][nN][tT]|[mM][eE][dD][iI][aA][nN]|[cC][oO][uU][nN][tT]|[mM][mM][aA][xX]|[mM][mM][iI][nN]|[mM][sS][uU][mM]|[sS][uU][mM][dD]|[aA][lL][lL]|[aA][nN][yY]|[aA][vV][gG]|[mM][aA][xX]|[mM][iI][nN]|[sS][uU][mM]|[tT][oO][pP])\\b(?=\\())", "variableName"], ["^(?:(?:regex_extract|regex_replace|day_of_year|decd_second|format_time|starts_with|add_months|decd_first|parse_date|parse_time|split_part|ends_with|pad_right|timestamp|to_number|to_string|coalesce|contains|greatest|index_of|pad_left|truncate|decimal|is_null|largest|matches|prepend|replace|reverse|seconds|weekday|append|concat|larger|minute|repeat|second|string|substr|float|floor|least|lower|ltrim|month|round|rtrim|split|upper|band|bnot|bxor|ceil|date|decd|encd|encd|hour|ipow|sign|sqrt|trim|week|year|abs|bor|cat|day|exp|int|len|log|nth|pow|shl|shr|if)\\b(?=\\s*\\())", "variableName"], ["^(?:[\\p{L}_][\\p{L}\\p{N}_]*(?=\\s*\\())", "variableName"], ["^(?:[\\p{L}_][\\p{L}\\p{N}_]*(?=\\s*:(?!-)))", "variableName"], ["^(?:_\\b)", null], ["^(?:[\\p{L}_][\\p{L}\\p{N}_]*)", "variableName"], ["^(?::-|<-|←|⇐)", "keyword"], ["^(?:<=|>=|!=|<>|==|[⟨⟩〈〉‹›≤≥≠¬~<>=!+\\-*/%|])", null], ["^(?:[.,;:?()@{}\\[\\]#])", null]];
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

export { datalog };
