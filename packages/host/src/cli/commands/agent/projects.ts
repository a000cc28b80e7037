import { readFile } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import { matchPersona, matchProject } from "@holdfast/client";
import type { ProjectView } from "@holdfast/protocol";
import {
  type ActionCall,
  failed,
  misuse,
  printList,
  runAction,
  say,
  sayChange,
} from "../../actions.ts";
import { type Command, exit, hasFlag, textFlag } from "../../command.ts";
import { cleanText } from "../../screen/text.ts";
import { personasStrings, projectsStrings as texts } from "../../strings/agent.ts";
import { programStrings } from "../../strings/program.ts";

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
  about: texts.about,
  flags: {
    json: { type: "boolean", about: programStrings.flags.json },
    text: { type: "string", value: "text", about: texts.flags.text },
    folder: { type: "string", value: "path", about: texts.flags.folder },
    persona: { type: "string", value: "name", about: texts.flags.persona },
    file: { type: "string", value: "path", about: texts.flags.file },
    replace: { type: "boolean", about: texts.flags.replace },
    "for-model": { type: "string", value: "model", about: texts.flags.forModel },
  },
  examples: [
    ['holdfast projects add Tides --text "All times are UTC."', texts.examples.add],
    ["holdfast projects edit Tides --folder .", texts.examples.edit],
    ["holdfast projects add-file Tides --file tides.pdf", texts.examples.addFile],
    ["holdfast projects delete Tides", texts.examples.delete],
  ],
  settings: "reach",
  run: (given, terminal) =>
    runAction(given, terminal, { command: "projects", usual: "list", actions }),
};

const actions = {
  list,
  show,
  add,
  edit,
  delete: remove,
  files: listFiles,
  "add-file": addFile,
  "delete-file": removeFile,
};

/** What follows the action is one name. */
const nameIn = ({ words }: ActionCall): string => words.join(" ");

async function list(call: ActionCall): Promise<number> {
  const listed = await call.client.listProjects();
  if (!listed.ok) return failed(call, listed);
  const { projects: found } = listed.value;
  await printList(call, found, ({ name, workspace, text }) => [name, workspace ?? "", text]);
  if (found.length === 0) call.terminal.printError(texts.none);
  return exit.done;
}

async function show(call: ActionCall): Promise<number> {
  return withProject(call, async ({ text }) => {
    call.terminal.print(cleanText(text));
    return exit.done;
  });
}

async function add(call: ActionCall): Promise<number> {
  const name = nameIn(call);
  if (name.trim() === "") return misuse(call, texts.needsName);
  const settings = await settingsOf(call);
  if (typeof settings === "number") return settings;
  const added = await call.client.addProject({ body: { name, ...settings } });
  if (!added.ok) return failed(call, added);
  return say(call, texts.added(added.value.project.name));
}

async function edit(call: ActionCall): Promise<number> {
  const body = await settingsOf(call);
  if (typeof body === "number") return body;
  if (Object.keys(body).length === 0) return misuse(call, texts.nothingToChange);
  return withProject(call, async ({ id, version, name }) => {
    const headers = { "if-match": version };
    const changed = await call.client.changeProject({ params: { id }, headers, body });
    if (!changed.ok) return failed(call, changed);
    const said = texts.changed(name);
    // The folder, the persona and the model are for new conversations.
    return body.text === undefined ? say(call, said) : sayChange(call, said, { project: name });
  });
}

/** What the flags name, or the exit code if a persona is not known. */
async function settingsOf(call: ActionCall) {
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

async function findPersona(call: ActionCall, name: string): Promise<string | number> {
  const listed = await call.client.listPersonas();
  if (!listed.ok) return failed(call, listed);
  const persona = matchPersona(listed.value.personas, name);
  if (persona !== undefined) return persona.id;
  return misuse(call, personasStrings.unknown(name));
}

async function remove(call: ActionCall): Promise<number> {
  return withProject(call, async ({ id, version, name }) => {
    const headers = { "if-match": version };
    const removed = await call.client.removeProject({ params: { id }, headers });
    if (!removed.ok) return failed(call, removed);
    return sayChange(call, texts.deleted(name), { project: name });
  });
}

async function listFiles(call: ActionCall): Promise<number> {
  return withProject(call, async ({ id, name: project }) => {
    const listed = await call.client.listProjectFiles({ params: { id } });
    if (!listed.ok) return failed(call, listed);
    const { files } = listed.value;
    await printList(call, files, ({ name, size }) => [name, String(size)]);
    if (files.length === 0) call.terminal.printError(cleanText(texts.noFiles(project)));
    return exit.done;
  });
}

async function addFile(call: ActionCall): Promise<number> {
  const { client, given } = call;
  const path = textFlag(given, "file") ?? "";
  const bytes = path === "" ? null : await readFile(path).catch(() => null);
  if (bytes === null)
    return misuse(call, path === "" ? texts.fileMissing : texts.fileUnreadable(path));
  return withProject(call, async ({ id, name: project }) => {
    const mediaType = extname(path).toLowerCase() === ".pdf" ? "application/pdf" : "text/plain";
    const put = await client.putBlob({ body: new Uint8Array(bytes), mediaType });
    if (!put.ok) return failed(call, put);
    const { blobId } = put.value;
    const body = { name: basename(path), blobId, replace: hasFlag(given, "replace") };
    const added = await client.addProjectFile({ params: { id }, body });
    if (!added.ok) return failed(call, added);
    return sayChange(call, texts.fileAdded(added.value.file.name), { project });
  });
}

async function removeFile(call: ActionCall): Promise<number> {
  const { client, given } = call;
  const wanted = textFlag(given, "file") ?? "";
  if (wanted === "") return misuse(call, texts.fileMissing);
  return withProject(call, async ({ id, name: project }) => {
    const listed = await client.listProjectFiles({ params: { id } });
    if (!listed.ok) return failed(call, listed);
    const file = listed.value.files.find(({ name }) => name === wanted);
    if (file === undefined) return misuse(call, texts.unknownFile(wanted, project));
    const removed = await client.removeProjectFile({ params: { id, file: file.id } });
    if (!removed.ok) return failed(call, removed);
    return sayChange(call, texts.fileDeleted(file.name), { project });
  });
}

async function withProject(
  call: ActionCall,
  use: (project: ProjectView) => Promise<number>,
): Promise<number> {
  const name = nameIn(call);
  const listed = await call.client.listProjects();
  if (!listed.ok) return failed(call, listed);
  const project = name === "" ? undefined : matchProject(listed.value.projects, name);
  if (project !== undefined) return use(project);
  return misuse(call, name === "" ? texts.nameMissing : texts.unknown(name));
}
