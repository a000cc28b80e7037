import { formatNumber } from "@holdfast/protocol";

/** Every text of `holdfast instructions`, `personas` and `projects`. A translation replaces these tables. */
export const instructionsStrings = {
  about:
    "Your custom instructions say how the agent should answer you. New sessions start with them. A session that has begun keeps the text that it started with; a deleted text leaves every session with its next answer.",
  flags: { json: "print them as JSON" },
  examples: {
    set: "for new sessions",
    file: "from a file",
    show: "print them",
  },
  none: "No instructions yet. To write them: holdfast instructions set <text>",
  textMissing: "Give the text: holdfast instructions set <text>",
  deleted: "Deleted. No session gets them from now on.",
  saved: "Saved for new sessions.",
  noHistory: "No instructions have been written yet.",
} as const;

export const personasStrings = {
  about:
    "A persona says who the agent is. A session has the one that was chosen for it (/persona), or the default. When you edit a persona, its sessions use the new text from their next answer on. The first persona is also in persona.md in the host's home; what you write there wins.",
  flags: {
    text: "its text",
    name: "its new name",
    forModel: "the model of sessions that begin with it; empty for the default model",
  },
  examples: {
    add: "a new persona",
    default: "for sessions that have chosen none",
    delete: "its sessions get the default persona",
  },
  default: "default",
  needsNameAndText: "Give a name and a text: holdfast personas add <name> --text <text>",
  nothingToChange: "Say what to change: --text, --name or --for-model.",
  nameMissing: "Name a persona; holdfast personas lists them.",
  unknown: (name: string) => `There is no persona "${name}". holdfast personas lists them.`,
  added: (name: string) => `Added: ${name}`,
  changed: (name: string) => `Changed: ${name}`,
  deleted: (name: string) => `Deleted: ${name}`,
  madeDefault: (name: string) => `Default: ${name}`,
} as const;

export const projectsStrings = {
  about:
    "A project holds sessions that belong together and share instructions; changed instructions apply from their next answer on. Folder, persona and model are for sessions that begin in the project; an empty value means the default. Sessions get its files, text and PDF, as far as they fit. Deleting a project deletes its files and keeps its sessions. /project moves a session.",
  flags: {
    text: "its instructions",
    folder: "the folder that its sessions work in",
    persona: "the persona of its sessions",
    file: "the file to add, or the name of the one to delete",
    replace: "replace a file with the same name",
    forModel: "the model of its sessions",
  },
  examples: {
    add: "a new project",
    edit: "its sessions work in the current folder",
    addFile: "its sessions get the text",
    delete: "its sessions stay",
  },
  none: "No projects yet. To add one: holdfast projects add <name>",
  needsName: "Give a name: holdfast projects add <name>",
  nothingToChange: "Say what to change: --text, --folder, --persona or --for-model.",
  nameMissing: "Name a project; holdfast projects lists them.",
  unknown: (name: string) => `There is no project "${name}". holdfast projects lists them.`,
  added: (name: string) => `Added: ${name}`,
  changed: (name: string) => `Changed: ${name}`,
  deleted: (name: string) => `Deleted: ${name}. Its sessions stay.`,
  noFiles: (name: string) =>
    `No files yet. To add one: holdfast projects add-file ${name} --file <path>`,
  bytes: (count: number) => `${formatNumber(count)} bytes`,
  fileMissing: "Name the file: --file <path>",
  fileUnreadable: (path: string) => `${path} cannot be read. Check the path and its permissions.`,
  unknownFile: (file: string, project: string) =>
    `There is no file "${file}" in this project. holdfast projects files ${project} lists them.`,
  fileAdded: (name: string) => `Added: ${name}`,
  fileDeleted: (name: string) => `Deleted: ${name}`,
} as const;
