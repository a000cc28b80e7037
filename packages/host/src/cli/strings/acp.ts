import { formatNumber } from "@holdfast/protocol";

const anyOf = new Intl.ListFormat("en", { type: "disjunction" });

/** Every text of `holdfast acp` that a person reads in their editor. A translation replaces this table. */
export const acpStrings = {
  about:
    "Connects an editor that speaks the Agent Client Protocol (ACP) over standard input and output. The editor starts this command. It uses the host that serves this home, and starts one if there is none; that host stays. Closing the editor does not end a run, and opening the session again shows everything.",
  flags: {
    setup: "print what to put into the settings of Zed, JetBrains and others",
    editor: "the editor's name for rights, lane acp:NAME (by default its own)",
    key: "an API key in place of the token; see holdfast keys",
  },
  examples: {
    setup: "what to put into your editor's settings",
    allow: "let sessions work there without asking",
    rights: "limit what one editor may do",
    remote: "a host on another machine",
  },
  folder: {
    notYet: (folder: string) =>
      `Holdfast may not work in ${folder} yet. Its owner can run: holdfast workspaces allow ${folder}`,
    notAllowed: (folder: string) =>
      `Holdfast may not work in ${folder} yet. Allow it when you are asked, or run: holdfast workspaces allow ${folder}`,
    refused: (folder: string) =>
      `Sessions may not work in ${folder}. holdfast workspaces lists the allowed folders.`,
    notAbsolute: (folder: string) => `The folder ${folder} is not an absolute path.`,
    ask: (folder: string) => `Let Holdfast work in ${folder}`,
    allow: "Allow this folder from now on",
    deny: "No",
  },
  options: {
    mode: "Mode",
    model: "Model",
    modelNotText: "The value of the option model must be a string.",
    badMode: (modes: readonly string[]) => `The mode must be ${anyOf.format(modes)}.`,
    unknown: (option: string) => `There is no option ${option}. The options are mode and model.`,
  },
  commands: {
    unknown: (name: string, nearest: string) =>
      `There is no command /${name}. ${nearest === "help" ? "/help lists them." : `Did you mean /${nearest}?`} To send it as a message: //${name}`,
    editorsOwn: (name: string) => `/${name} is not available here: your editor does this itself.`,
    undone: "The model no longer sees the last turn. /redo brings it back.",
    redone: "The model sees the turn again.",
    switched: "The model continues from that version. Your editor may still show the other one.",
    withFiles: {
      undo: "The model no longer sees the last turn. /redo files brings it and its files back.",
      redo: "The model sees the turn again.",
      switch: "The model continues from that version. Your editor may still show the other one.",
    },
  },
  prompt: {
    noAudio: "Holdfast cannot take audio in a prompt. Attach a text, a picture or a PDF.",
    empty: "The prompt is empty.",
    tooLong: (length: number, limit: number) =>
      `The prompt has ${formatNumber(length)} characters; at most ${formatNumber(limit)} are possible. Link to a file instead of including it.`,
    tooManyFiles: (limit: number) =>
      `A prompt can have at most ${formatNumber(limit)} attachments.`,
    notBase64: (name: string) => `The content of ${name} is not valid base64.`,
  },
  permission: {
    once: "Allow once",
    session: "Allow in this session",
    always: "Always allow",
    deny: "Deny",
    covering: (option: string, rule: string) => `${option}: ${rule}`,
    after: (sources: string) => `The model asks this after reading ${sources}.`,
    place: (folder: string) => `In ${folder}`,
    choose: "Choose",
    answer: "Your answer",
    ownWords: "Or in your own words",
    noAnswer: "Skip",
  },
  narrowMode: (mode: string) =>
    `This editor may not answer approvals, so it cannot switch to a wider mode. The session is in ${mode} mode.`,
  unknownSession: "There is no such session here. List the sessions, or begin a new one.",
  mcpServersUnused:
    "Holdfast does not use the editor's MCP servers. The operator chooses the servers: holdfast mcp-servers",
  changedElsewhere:
    "The conversation was changed elsewhere. Open the session again to see the change.",
  messageTooLong: (maxBytes: number) =>
    `A message can have at most ${formatNumber(maxBytes)} bytes. Attach less, or link to it.`,
  setupHeading: (editor: string, place: string) => `${editor} (${place}):`,
} as const;
