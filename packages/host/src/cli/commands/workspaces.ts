import { resolve } from "node:path";
import { sessionId } from "@holdfast/protocol";
import { type ActionCall, failed, printCells, runAction, say } from "../actions.ts";
import { type Command, exit, hasFlag } from "../command.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";
import { workspacesStrings as texts } from "../strings/access.ts";
import { programStrings } from "../strings/program.ts";

export const workspaces: Command = {
  usage: [
    "workspaces list",
    "workspaces allow [folder]",
    "workspaces forget [folder]",
    "workspaces take-over <session>",
  ],
  about: texts.about,
  flags: { json: { type: "boolean", about: programStrings.flags.json } },
  examples: [
    ["holdfast workspaces allow", texts.examples.allow],
    ["holdfast workspaces", texts.examples.list],
    ["holdfast workspaces forget ~/projects/tides", texts.examples.forget],
  ],
  settings: "reach",
  run: (given, terminal) =>
    runAction(given, terminal, { command: "workspaces", usual: "list", actions }),
};

const actions = { list, allow, forget, "take-over": takeOver };

/** The named folder, or the current one. */
const pathIn = ({ words: [folder = "."] }: ActionCall): string => resolve(folder);

async function list(call: ActionCall): Promise<number> {
  const { client, given, terminal } = call;
  const listed = await client.listFolders();
  if (!listed.ok) return failed(call, listed);
  const { roots, folders } = listed.value;
  if (hasFlag(given, "json")) {
    for (const path of roots) terminal.print(cleanJson({ root: path }));
    for (const folder of folders) terminal.print(cleanJson(folder));
    return exit.done;
  }
  await printCells(terminal, [
    ...roots.map((path) => [path, texts.kinds.root]),
    ...folders.map(({ path }) => [path, texts.kinds.allowed]),
  ]);
  if (roots.length + folders.length === 0) terminal.print(texts.none);
  return exit.done;
}

async function allow(call: ActionCall): Promise<number> {
  const allowed = await call.client.allowFolder({ body: { path: pathIn(call) } });
  if (!allowed.ok) return failed(call, allowed);
  return say(call, texts.allowed(allowed.value.folder.path));
}

async function forget(call: ActionCall): Promise<number> {
  const { client, terminal } = call;
  const path = pathIn(call);
  const listed = await client.listFolders();
  if (!listed.ok) return failed(call, listed);
  const folder = listed.value.folders.find((each) => each.path === path);
  if (folder === undefined) {
    terminal.printError(cleanLine(texts.notAllowed(path)));
    return exit.failed;
  }
  const forgotten = await client.forgetFolder({ params: { id: folder.id } });
  if (!forgotten.ok) return failed(call, forgotten);
  return say(call, texts.forgotten(path));
}

/** Only for the files of a host that is gone: the folder is empty afterwards. */
async function takeOver(call: ActionCall): Promise<number> {
  const id = sessionId.safeParse(call.words[0]);
  if (!id.success) {
    call.terminal.printError(texts.whichSession);
    return exit.failed;
  }
  const taken = await call.client.takeOverWorkspace({ params: { id: id.data }, body: {} });
  return taken.ok ? say(call, texts.takenOver) : failed(call, taken);
}
