// Prints what the engine of editors makes of programs: for each, its stretches with offsets and the innermost scope.
// `node tokens.mjs programs.json`, where the file is a list of texts. tests/unit/editor/test_colours.py compares.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

const here = dirname(fileURLToPath(import.meta.url));
const wasm = readFileSync(join(dirname(require.resolve("vscode-oniguruma")), "onig.wasm"));
await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
const onigLib = Promise.resolve({
  createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
  createOnigString: (text) => new oniguruma.OnigString(text),
});
const file = join(here, "syntaxes", "datalog.tmLanguage.json");
const registry = new textmate.Registry({
  onigLib,
  loadGrammar: async () => textmate.parseRawGrammar(readFileSync(file, "utf8"), file),
});
const grammar = await registry.loadGrammar("source.datalog");

/** Counts characters as Python does: a pair of halves is one. */
const characters = (text) => Array.from(text).length;

function read(text) {
  const found = [];
  let stack = textmate.INITIAL;
  let offset = 0;
  for (const line of text.split("\n")) {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, stack);
    stack = ruleStack;
    for (const { startIndex, endIndex, scopes } of tokens) {
      const start = offset + characters(line.slice(0, startIndex));
      found.push([start, start + characters(line.slice(startIndex, endIndex)), scopes.at(-1)]);
    }
    offset += characters(line) + 1;
  }
  return found;
}

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(process.argv[2], "utf8")).map(read)));
