// Starts `gradcli lsp`, and connects the editor to it. Colours need no server: they come from the
// TextMate grammar.
const { workspace } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const command = workspace.getConfiguration("gradcli").get("command");
  const server = { command, args: ["lsp"], transport: TransportKind.stdio };
  const options = { documentSelector: [{ language: "gradcli" }] };
  client = new LanguageClient("gradcli", "gradcli", server, options);
  return client.start();
};

exports.deactivate = () => client?.stop();
