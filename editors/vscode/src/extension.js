// Starts `emberlog lsp` for programs, and again when the settings change.
"use strict";

const fs = require("fs");
const path = require("path");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

/** Returns the command of the settings, or that of an environment in the folder that is open. */
function command() {
  const settings = vscode.workspace.getConfiguration("emberlog");
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const given = settings.get("path", "emberlog").replaceAll("${workspaceFolder}", folder ?? "");
  if (given !== "emberlog" || folder === undefined) {
    return given;
  }
  const inside = process.platform === "win32" ? ["Scripts", "emberlog.exe"] : ["bin", "emberlog"];
  const found = [".venv", "venv"].map((name) => path.join(folder, name, ...inside)).find((name) => fs.existsSync(name));
  return found ?? given;
}

async function start() {
  const server = { command: command(), args: ["lsp"] };
  client = new LanguageClient("emberlog", "Emberlog", server, {
    documentSelector: [
      { scheme: "file", language: "datalog" },
      { scheme: "untitled", language: "datalog" },
    ],
  });
  try {
    await client.start();
  } catch (error) {
    const choice = await vscode.window.showErrorMessage(
      `Emberlog: \`${server.command} lsp\` did not start: ${error.message ?? error}. ` +
        "Install it with pip install 'emberlog[lsp]', and say in the settings where it is.",
      "Open Settings",
    );
    if (choice !== undefined) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "emberlog.path");
    }
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running?.isRunning()) {
    await running.stop();
  }
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("emberlog.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("emberlog.path") && restart()),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
