import { readFile } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import {
  type Client,
  describeError,
  matchPersona,
  matchProject,
  type Result,
} from "@holdfast/client";
import type { ProjectView } from "@holdfast/protocol";
import {
  type Arguments,
  type Command,
  exit,
  hasFlag,
  type Terminal,
  textFlag,
} from "../../command.ts";
import { withHost } from "../../connection/connect.ts";
import { cleanJson, cleanLine, cleanText } from "../../screen/text.ts";

interface ProjectsCall {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly given: Arguments;
  /** What follows the action, as one text. */
  readonly name: string;
}

const actions: Readonly<Record<string, (call: ProjectsCall) => Promise<number>>> = {
  list,
  show,
  add,
  edit,
  delete: remove,
  files: listFiles,
  "add-file": addFile,
  "delete-file": removeFile,
};

export const projects: Command = {
  usage: [
    "projects [list]",
    "projects show <name>",
    "projects add <name> [--text <text>] [--folder <path>] [--persona <name>] [--for-model <model>]",
    "projects edit <name> [--text <text>] [--folder <path>] [--persona <name>] [--for-model <model>]",
    "projects delete <name>",
    "projects files <name>",
    "projects add-file <name> --file <path> [--replace]",
    "projects delete-file <name> --file <name>",
  ],
  about: [
    "Sessions that belong together and share instructions; changed instructions apply from their next answer on.",
    "Folder, persona and model are for sessions that begin in the project; an empty value means the default.",
    "Its files, texts and PDFs, are given to its sessions as far as they fit. Deleting a project deletes its files and",
    "keeps its sessions. /project moves a session.",
  ].join("\n"),
  flags: {
    json: { type: "boolean", about: "a line of JSON for each" },
    text: { type: "string", value: "text", about: "its instructions" },
    folder: { type: "string", value: "path", about: "the folder that its sessions work in" },
    persona: { type: "string", value: "name", about: "the persona of its sessions" },
    file: { type: "string", value: "path", about: "the file to add, or the name of one to delete" },
    replace: { type: "boolean", about: "replace a file of the same name" },
    "for-model": { type: "string", value: "model", about: "the model of its sessions" },
  },
  examples: [
    ['holdfast projects add Tides --text "All times are UTC."', "a new project"],
    ["holdfast projects edit Tides --folder .", "its sessions work in this folder"],
    ["holdfast projects add-file Tides --file tides.pdf", "its sessions get the text"],
    ["holdfast projects delete Tides", "its sessions stay"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [action = "list", ...words] = given.words;
    const run = Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (run === undefined) {
      terminal.printError(
        `"projects ${cleanLine(action)}" is not known: ${Object.keys(actions).join(", ")} are.`,
      );
      return exit.misuse;
    }
    return withHost(given, terminal, ({ client }) =>
      run({ client, terminal, given, name: words.join(" ") }),
    );
  },
};

function failed({ terminal }: ProjectsCall, { error }: Result<unknown> & { ok: false }): number {
  terminal.printError(cleanLine(describeError(error)));
  return exit.failed;
}

async function list(call: ProjectsCall): Promise<number> {
  const { client, given, terminal } = call;
  const listed = await client.listProjects();
  if (!listed.ok) return failed(call, listed);
  for (const project of listed.value.projects)
    terminal.print(hasFlag(given, "json") ? cleanJson(project) : rowOf(project));
  if (listed.value.projects.length === 0)
    terminal.printError("There are none yet. To add one: holdfast projects add <name>");
  return exit.done;
}

function rowOf({ name, workspace, text }: ProjectView): string {
  return [name, workspace ?? "", text].map(cleanLine).join("\t");
}

async function show(call: ProjectsCall): Promise<number> {
  return withProject(call, async ({ text }) => {
    call.terminal.print(cleanText(text));
    return exit.done;
  });
}

async function add(call: ProjectsCall): Promise<number> {
  const { client, terminal, name } = call;
  if (name.trim() === "") {
    terminal.printError("Give a name: holdfast projects add <name>");
    return exit.misuse;
  }
  const settings = await settingsOf(call);
  if (typeof settings === "number") return settings;
  const added = await client.addProject({ body: { name, ...settings } });
  if (!added.ok) return failed(call, added);
  terminal.print(cleanLine(`Added: ${added.value.project.name}`));
  return exit.done;
}

async function edit(call: ProjectsCall): Promise<number> {
  const { client, terminal } = call;
  const body = await settingsOf(call);
  if (typeof body === "number") return body;
  if (Object.keys(body).length === 0) {
    terminal.printError("Name what to change: --text, --folder, --persona or --for-model.");
    return exit.misuse;
  }
  return withProject(call, async ({ id, version, name }) => {
    const headers = { "if-match": version };
    const changed = await client.changeProject({ params: { id }, headers, body });
    if (!changed.ok) return failed(call, changed);
    terminal.print(cleanLine(`Changed: ${name}`));
    return exit.done;
  });
}

/** What the flags name, or the exit code if a persona is not known. */
async function settingsOf(call: ProjectsCall) {
  const [text, folder, persona, model] = ["text", "folder", "persona", "for-model"].map((flag) =>
    textFlag(call.given, flag),
  );
  const personaId =
    persona === undefined || persona === "" ? null : await findPersona(call, persona);
  if (typeof personaId === "number") return personaId;
  return {
    ...(text !== undefined && { text }),
    ...(folder !== undefined && { workspace: folder === "" ? null : resolve(folder) }),
    ...(persona !== undefined && { persona: personaId }),
    ...(model !== undefined && { model: model === "" ? null : model }),
  };
}

async function findPersona(call: ProjectsCall, name: string): Promise<string | number> {
  const listed = await call.client.listPersonas();
  if (!listed.ok) return failed(call, listed);
  const persona = matchPersona(listed.value.personas, name);
  if (persona !== undefined) return persona.id;
  call.terminal.printError(
    cleanLine(`No persona is called "${name}": holdfast personas lists them.`),
  );
  return exit.misuse;
}

async function remove(call: ProjectsCall): Promise<number> {
  return withProject(call, async ({ id, version, name }) => {
    const headers = { "if-match": version };
    const removed = await call.client.removeProject({ params: { id }, headers });
    if (!removed.ok) return failed(call, removed);
    call.terminal.print(cleanLine(`Deleted: ${name}. Its sessions stay.`));
    return exit.done;
  });
}

async function listFiles(call: ProjectsCall): Promise<number> {
  return withProject(call, async ({ id }) => {
    const listed = await call.client.listProjectFiles({ params: { id } });
    if (!listed.ok) return failed(call, listed);
    for (const file of listed.value.files)
      call.terminal.print(
        hasFlag(call.given, "json") ? cleanJson(file) : `${cleanLine(file.name)}\t${file.size}`,
      );
    if (listed.value.files.length === 0)
      call.terminal.printError("There are none: holdfast projects add-file <name> --file <path>.");
    return exit.done;
  });
}

async function addFile(call: ProjectsCall): Promise<number> {
  const { client, terminal, given } = call;
  const path = textFlag(given, "file") ?? "";
  const bytes = path === "" ? null : await readFile(path).catch(() => null);
  if (bytes === null) {
    terminal.printError(
      path === "" ? "Name it: --file <path>." : cleanLine(`${path} cannot be read.`),
    );
    return exit.misuse;
  }
  return withProject(call, async ({ id }) => {
    const mediaType = extname(path).toLowerCase() === ".pdf" ? "application/pdf" : "text/plain";
    const put = await client.putBlob({ body: new Uint8Array(bytes), mediaType });
    if (!put.ok) return failed(call, put);
    const { blobId } = put.value;
    const body = { name: basename(path), blobId, replace: hasFlag(given, "replace") };
    const added = await client.addProjectFile({ params: { id }, body });
    if (!added.ok) return failed(call, added);
    terminal.print(cleanLine(`Added: ${added.value.file.name}`));
    return exit.done;
  });
}

async function removeFile(call: ProjectsCall): Promise<number> {
  const { client, terminal, given } = call;
  const wanted = textFlag(given, "file") ?? "";
  return withProject(call, async ({ id }) => {
    const listed = await client.listProjectFiles({ params: { id } });
    if (!listed.ok) return failed(call, listed);
    const file = listed.value.files.find(({ name }) => name === wanted);
    if (file === undefined) {
      terminal.printError(
        cleanLine(`No file is called "${wanted}": holdfast projects files lists them.`),
      );
      return exit.misuse;
    }
    const removed = await client.removeProjectFile({ params: { id, file: file.id } });
    if (!removed.ok) return failed(call, removed);
    terminal.print(cleanLine(`Deleted: ${file.name}`));
    return exit.done;
  });
}

async function withProject(
  call: ProjectsCall,
  use: (project: ProjectView) => Promise<number>,
): Promise<number> {
  const { client, terminal, name } = call;
  const listed = await client.listProjects();
  if (!listed.ok) return failed(call, listed);
  const project = name === "" ? undefined : matchProject(listed.value.projects, name);
  if (project !== undefined) return use(project);
  terminal.printError(cleanLine(`No project is called "${name}": holdfast projects lists them.`));
  return exit.misuse;
}
