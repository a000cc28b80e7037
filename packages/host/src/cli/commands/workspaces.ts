import { resolve } from "node:path";
import { type Client, describeError, type Result } from "@holdfast/client";
import { type Arguments, type Command, exit, hasFlag, type Terminal } from "../command.ts";
import { withHost } from "../connection/connect.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";

interface WorkspacesCall {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly given: Arguments;
  /** Absolute. */
  readonly path: string;
}

const actions: Readonly<Record<string, (call: WorkspacesCall) => Promise<number>>> = {
  list,
  allow,
  forget,
};

export const workspaces: Command = {
  usage: ["workspaces list", "workspaces allow [folder]", "workspaces forget [folder]"],
  about: [
    "The folders that sessions may work in. Where the operator names roots (workspaceRoots), these decide. Otherwise a folder",
    "has to be allowed once, on the machine of the host: never your home folder, one that contains it, or Holdfast's own.",
  ].join("\n"),
  flags: { json: { type: "boolean", about: "a line of JSON for each" } },
  examples: [
    ["holdfast workspaces allow", "the folder that you are in"],
    ["holdfast workspaces", "the operator's roots, and what you have allowed"],
    ["holdfast workspaces forget ~/projects/tides", "from now on it is asked for again"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [name = "list", folder = "."] = given.words;
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (action === undefined) {
      terminal.printError(
        `"workspaces ${cleanLine(name)}" is not known: ${Object.keys(actions).join(", ")} are.`,
      );
      return exit.misuse;
    }
    return withHost(given, terminal, ({ client }) =>
      action({ client, terminal, given, path: resolve(folder) }),
    );
  },
};

function failed({ terminal }: WorkspacesCall, { error }: Result<unknown> & { ok: false }): number {
  terminal.printError(cleanLine(describeError(error)));
  return exit.failed;
}

async function list(call: WorkspacesCall): Promise<number> {
  const { client, given, terminal } = call;
  const listed = await client.listFolders();
  if (!listed.ok) return failed(call, listed);
  const { roots, folders } = listed.value;
  const isJson = hasFlag(given, "json");
  for (const path of roots)
    terminal.print(isJson ? cleanJson({ root: path }) : rowOf(path, "root"));
  for (const folder of folders)
    terminal.print(isJson ? cleanJson(folder) : rowOf(folder.path, "allowed"));
  if (roots.length + folders.length === 0 && !isJson)
    terminal.print("None: sessions work in folders of their own. holdfast workspaces allow");
  return exit.done;
}

function rowOf(path: string, kind: string): string {
  return `${cleanLine(path)}\t${kind}`;
}

async function allow(call: WorkspacesCall): Promise<number> {
  const { client, terminal, path } = call;
  const allowed = await client.allowFolder({ body: { path } });
  if (!allowed.ok) return failed(call, allowed);
  terminal.print(`Sessions may work in ${cleanLine(allowed.value.folder.path)}.`);
  return exit.done;
}

async function forget(call: WorkspacesCall): Promise<number> {
  const { client, terminal, path } = call;
  const listed = await client.listFolders();
  if (!listed.ok) return failed(call, listed);
  const folder = listed.value.folders.find((each) => each.path === path);
  if (folder === undefined) {
    terminal.printError(`${cleanLine(path)} was not allowed: holdfast workspaces lists what is.`);
    return exit.failed;
  }
  const forgotten = await client.forgetFolder({ params: { id: folder.id } });
  if (!forgotten.ok) return failed(call, forgotten);
  terminal.print(`Sessions may no longer work in ${cleanLine(path)}.`);
  return exit.done;
}
