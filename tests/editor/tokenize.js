// Tokens as an editor sees them: reads {"grammar": FILE, "texts": [TEXT, ...]} from standard input,
// and prints for each text a list of [line, start, end, scopes], in UTF-16 units.
const fs = require("fs");
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

async function main() {
  const asked = JSON.parse(fs.readFileSync(0, "utf8"));
  const wasm = fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.length));
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () =>
      textmate.parseRawGrammar(fs.readFileSync(asked.grammar, "utf8"), asked.grammar),
  });
  const grammar = await registry.loadGrammar("source.gradcli");
  const answers = asked.texts.map((text) => {
    let stack = textmate.INITIAL;
    return text.split("\n").flatMap((line, number) => {
      const found = grammar.tokenizeLine(line, stack);
      stack = found.ruleStack;
      return found.tokens.map((t) => [number, t.startIndex, t.endIndex, t.scopes]);
    });
  });
  console.log(JSON.stringify(answers));
}

main();
