import { type AttachmentCost, describeAttachmentCost } from "@holdfast/client";
import { plural } from "@holdfast/protocol";

/** Every text of `holdfast chat`. A translation replaces this table. */
export const chatStrings = {
  /** The help of the command. */
  about: {
    text: "Talks in this terminal, with the host that serves this home, with the one at --url, or in this process if none runs.\n\nAnswers appear as they are written. What you send meanwhile waits; Ctrl-S steers the next step with it, Ctrl-X interrupts the answer for it. Before a tool does something, you see exactly what would run, and decide. /help lists the commands, Tab completes, Ctrl-J begins a new line, Ctrl-O unfolds what was folded last. Esc stops the answer, Ctrl-D leaves.\n\nNothing is lost if you leave, or if the host crashes or restarts. A new session works in the current folder; the first time you are asked to allow that.",
    flags: {
      session: "continue this session",
      continue: "continue the newest session",
      plain: "plain text: no cards, menus or status line",
    },
    examples: {
      new: "begin a new session with your first message",
      workspace: "work in that folder, not in the current one",
      project: "begin in a project, with a persona",
      continue: "continue where you left off, also after a crash",
      session: "by words of its title, its id, or the end of its id",
      pipe: "a line at a time, from a pipe",
    },
  },
  greeting: {
    here: "Holdfast, in this process · /help lists the commands",
    at: (address: string) => `Holdfast at ${address} · /help lists the commands`,
    theHost: "the host",
    folder: (folder: string) => `Working in ${folder}`,
  },
  leaving: {
    unfinished: "The answer is not finished. It continues when a host runs again.",
    comeBack: (id: string) => `To continue here: holdfast chat --session ${id}`,
  },
  sessions: {
    untitled: "(no messages yet)",
    noMatch: (name: string) => `No session matches "${name}".`,
    severalMatch: (name: string) => `Several sessions match "${name}":`,
    noneYet: "No sessions yet.",
    messages: (count: number) => plural(count, { one: "# message", other: "# messages" }),
  },
  connection: {
    live: "",
    reconnecting: "Reconnecting to the host…",
    offline: "Disconnected. Messages will be sent when the host is back.",
  },
  footer: {
    connection: { live: "● live", reconnecting: "◌ reconnecting", offline: "○ offline" },
    mode: (mode: string) => `${mode} mode`,
    usage: (input: string, output: string) => `${input} tokens in, ${output} out`,
  },
  keys: {
    idle: "/help · Ctrl-D leaves",
    answering: "Esc stops",
    typing: "⏎ queues · ^S steers · ^X interrupts",
    stopping: "Stopping… Press Ctrl-C again to leave.",
    leaveHint: "Press Ctrl-C again to leave.",
  },
  activity: {
    thinking: "Thinking…",
    writing: "Writing…",
    tool: (name: string) => `Running ${name}…`,
    stopping: "Stopping…",
    approval: "Needs your approval",
    question: "Waiting for your answer",
    paused: "Paused. /resume continues.",
  },
  inbox: {
    queue: "Queued",
    steer: "Will steer the next step",
    interrupt: "Interrupting",
    sending: "Sending",
    more: (count: number) => `  … and ${count} more`,
  },
  prompt: { message: "› ", answer: "answer › ", decision: "o/s/a/d › " },
  approval: {
    command: "Run this command?",
    call: "Allow this call?",
    /** What is asked about a tool of the host. Others are asked about by their name. */
    titles: {
      edit_file: "Make this change?",
      apply_patch: "Make these changes?",
      write_file: "Write this file?",
      send_file: "Send this file?",
      fetch_url: "Open this address?",
    },
    plan: "Review this plan:",
    taint: (sources: string) => `The model asks this after reading ${sources}.`,
    tooLong:
      "This is too long to allow in a terminal. Open the page to read all of it and allow it there.",
    location: (folder: string) => `in ${folder}`,
    folder: (folder: string) => `[in the folder ${folder}]`,
    loads: (path: string, hash: string) => `[loads ${path}, ${hash}]`,
    missing: "missing",
    thisCall: "this exact call",
    once: "Allow once",
    session: (scope: string) => `Allow for this session: ${scope}`,
    always: (scope: string) => `Always allow: ${scope}`,
    deny: "Deny",
    denyBecause: "Deny and say why",
    /** Typed text that begins like this denies the call; what follows is the reason. */
    reasonStart: "deny: ",
    view: "Show the whole call",
    hints: {
      once: "o allow once",
      session: "s allow for this session",
      always: "a always allow",
      deny: "d deny, or d and a reason",
      view: "v show the whole call",
    },
    answered: {
      once: "Allowed once",
      session: "Allowed for this session",
      always: "Always allowed",
      deny: "Denied",
    },
    deniedBecause: (reason: string) => `Denied: ${reason}`,
    keys: "  ↑↓ or a key, then Enter",
    orType: " · or type an answer",
    firstOf: (count: number, call: string) => `1 of ${count}: ${call}`,
    chooseOne: "Please choose one of the options, or Esc to stop.",
    notAReply: "Please answer the question above first. /queue sends a message for later.",
  },
  picker: {
    keys: "  ↑↓ Enter · type to filter · Esc closes",
    position: (index: number, count: number) => `${index} of ${count}`,
    noMatch: "  No matches",
    session: "Open a session",
    model: "Choose a model",
    mode: "Choose a mode",
    persona: "Choose a persona",
    project: "Choose a project",
    hit: "Open a match",
    current: "current",
    default: "default",
    window: (tokens: string) => `${tokens} tokens`,
    price: (input: string, output: string) => `${input} in, ${output} out per million tokens`,
    noImages: "text only",
  },
  suggestions: {
    more: (count: number) => `  … ${count} more, Tab completes`,
  },
  files: {
    outside: (path: string) =>
      `@${path} is outside the folder you are in. Copy it here, or start the chat there.`,
    tooLarge: (path: string) => `${path} is larger than 25 MB.`,
    unreadable: (path: string) => `${path} cannot be read.`,
    quoted: (path: string) => `The file ${path}:`,
  },
  pasted: (number: number, lines: number) =>
    plural(lines, {
      one: `[Pasted text ${number}: # line]`,
      other: `[Pasted text ${number}: # lines]`,
    }),
  unseen: {
    pictures: (model: string) =>
      `${model} cannot see pictures. It gets only their names; its tools can find the files.`,
    perhaps_pictures: (model: string) =>
      `${model} may not be able to see pictures. They are sent anyway; its server may reject them.`,
    pdf_pages: (model: string) =>
      `${model} gets the text of PDFs with page numbers. It does not see their pictures or scanned pages.`,
    media: (model: string) =>
      `${model} cannot play audio or video. It gets only the names; its tools can find the files.`,
  },
  attachmentCost: (cost: AttachmentCost) =>
    `${describeAttachmentCost(cost)} To send them anyway, send the same message again (↑, Enter).`,
  shell: {
    running: "Running… Esc stops.",
    exited: (code: number) => `exit code ${code}`,
    killed: (signal: string) => `ended by ${signal}`,
    stopped: "stopped",
    tooLong: "stopped after 10 minutes",
    notStarted: (code: string) => `could not start (${code})`,
    quoted: (command: string, summary: string) => `I ran \`${command}\` (${summary}):`,
    willBeSent: "The model sees this with your next message.",
  },
  cards: {
    thoughts: "Thoughts",
    thought: (words: number) =>
      plural(words, { one: "✻ Thought, # word: Ctrl-O", other: "✻ Thought, # words: Ctrl-O" }),
    more: (lines: number) =>
      plural(lines, { one: " · # more line: Ctrl-O", other: " · # more lines: Ctrl-O" }),
    change: { created: "Created", changed: "Changed", deleted: "Deleted" },
  },
  command: {
    unknown: (name: string, nearest: string) =>
      `There is no command /${name}. ${nearest === "help" ? "/help lists them." : `Did you mean /${nearest}?`} (To send it as a message: //${name} …)`,
    savedTo: (path: string) => `Saved to ${path}`,
    notSaved: (path: string, code: string) => `${path} cannot be written (${code}).`,
    several: "Several sessions match. Which one? /resume <end of its id>",
    title: (title: string) => `Renamed to “${title}”`,
    noTitle: "No title yet.",
    noSkills: "This session has no skills.",
    skillsWaiting: (count: number) =>
      `${count} more in this folder need your decision: holdfast skills trust --help`,
    noAgents: "This conversation has no agents to give tasks to.",
    agentsWaiting: (count: number) =>
      `${count} more in this folder need your decision: holdfast agents trust --help`,
    model: (model: string) => `Model for this session: ${model}`,
    nextModel: (model: string) => `Model for the next session: ${model}`,
    mode: (mode: string) => `Mode for this session: ${mode}`,
    nextPersona: (name: string) => `Persona for the next session: ${name}`,
    nextMode: (mode: string) => `Mode for the next session: ${mode}`,
    defaultModel: "the default model",
    usualModel: (model: string) => `${model} (default)`,
    models: "Available models:",
    unknownModel: (name: string) => `There is no model “${name}”. /model lists the models.`,
    sent: {
      queued: "Queued",
      steered: "Will steer the next step",
      retried: "Retrying",
      edited: "Sent the edited message",
      continued: "Continuing",
    },
    compacting: { started: "Summarising the conversation…", deferred: "Already summarising." },
    moved: { begun: "New session:", resumed: "Now in", branched: "Branch:" },
    usage: {
      session: "Session",
      today: "Today",
      all: "Total",
      calls: (count: number) => plural(count, { one: "# call", other: "# calls" }),
      tokens: (input: string, cached: string, output: string) =>
        `${input} tokens in${cached}, ${output} out`,
      cached: (tokens: string) => ` (${tokens} cached)`,
    },
    status: {
      facts: (messages: string, model: string, mode: string) =>
        `${messages}, ${model}, ${mode} mode`,
      noRun: "No run yet.",
      lastRun: (state: string) => `Last run: ${state}`,
      queued: (text: string) => `Queued: ${text}`,
      approval: (call: string) => `Needs your approval: ${call}`,
    },
    noSchedules: "No schedules yet. To add one: holdfast schedules add",
    noProcesses: "No background processes.",
    noInbox: "Nothing is queued.",
    noHits: "No matches.",
    otherVersion: "(in another version; /alternatives shows it)",
    noAlternatives: "No message here was edited or retried, so there is only one version.",
    personaChosen: "Persona changed. It applies from the next answer on.",
    project: (name: string | null) => (name === null ? "No project" : `Project: ${name}`),
    switched: "Another version is shown. The model continues from it.",
    filesLeft: (number: number, count: number) =>
      plural(count, {
        one: `# file is still as the other version left it. To bring this version's: /alternatives ${number} files`,
        other: `# files are still as the other version left them. To bring this version's: /alternatives ${number} files`,
      }),
    nothingToStop: "Nothing is running.",
    stopping: "Stopping…",
    memory: {
      done: "Everything is saved to memory.",
      turns: (count: number) => plural(count, { one: "# turn", other: "# turns" }),
      sessions: (count: number) => plural(count, { one: "# session", other: "# sessions" }),
      pending: (turns: string, sessions: string, since: string) =>
        `${turns} in ${sessions} not saved to memory yet${since}.`,
      since: (time: string) => `, the oldest since ${time}`,
      failing: (message: string, code: string) => `The last attempt failed: ${message} (${code})`,
      added: (text: string) => `Added: ${text}`,
      deleted: (text: string) => `Deleted: ${text}`,
      notFound: (words: string) => `No fact contains "${words}".`,
      more: (count: number) => `${count.toLocaleString()} more. To search: /memory WORDS`,
    },
    help: {
      aliases: (names: string) => `Also: ${names}`,
      example: (example: string) => `Example: ${example}`,
      end: "//text sends /text as a message. Tab completes. /quit or Ctrl-D leaves; answers continue.",
      files: "@path attaches a file, !command runs a command and shows its output to the model.",
    },
  },
} as const;
