import { plural } from "@holdfast/protocol";

/** Every text that a chat bot sends by itself. A translation replaces this table. */
export const botStrings = {
  welcome: "You're in. Send a message to start; /help lists the commands.",
  start:
    "Hello! Send a message to start; everything is saved. /new starts a new session, /sessions lists them, /stop stops an answer, /help lists all commands.",
  commands: {
    interrupt: "Stop the current answer and send this instead.",
    resend: "Send again what may not have arrived.",
  },
  private: (code: string) =>
    `This bot is private. If you know its owner, give them this code: \`${code}\``,
  unknownCommand: (name: string, nearest: string) =>
    `There is no command /${name}. ${nearest === "help" ? "/help lists them." : `Did you mean /${nearest}?`}`,
  interruptNeedsText: "/interrupt needs text.",
  nothingToResend: "Nothing to resend: everything arrived.",
  fileRefused: (file: string, reason: string) =>
    `The file ${file} could not be received: ${reason}. Please send it again.`,
  fileMissing: "The file no longer exists.",
  fileNotSent: "A file could not be sent.",
  reply: {
    resumed: (title: string) => `This chat is now in **${title}**.`,
    begun: "New session started. The previous one is kept; /sessions lists them.",
    noSessions: "No sessions yet.",
    which: "Several sessions match. Choose one:",
    sessions: "Sessions, newest first:",
    here: " (this chat)",
    modeChosen: (mode: string) => `The mode is now ${mode}`,
    changed: {
      undone: "Last turn undone. /redo brings it back.",
      redone: "Turn restored.",
      switched: "Continuing from that version.",
      titled: "Title changed.",
      persona_chosen: "Persona changed. It applies from the next answer on.",
      project_chosen: "Project changed. Its instructions apply from the next answer on.",
      model_chosen: "Model changed for this session.",
    },
    withFiles: {
      undo: "Last turn undone; /redo files brings it and its files back.",
      redo: "Turn restored.",
      switch: "Continuing from that version.",
    },
    filesLeft: (number: number, count: number) =>
      plural(count, {
        one: `# file is still as the other version left it; \`/alternatives ${number} files\` brings this version's.`,
        other: `# files are still as the other version left them; \`/alternatives ${number} files\` brings this version's.`,
      }),
    filesRefused:
      "Files cannot be put back from here, because this chat may not use the tool write_file.",
    nothingToStop: "Nothing is running.",
    compacting: {
      started: "Summarising the conversation for the model. You still see all of it.",
      deferred: "Already summarising.",
    },
    model: (model: string) => `Model: ${model}`,
    defaultModel: "the default model",
    mode: (mode: string) => `The mode is ${mode} \`/mode\` takes plan, ask, edits or full.`,
    title: (title: string) => `Title: ${title}`,
    noTitle: "none yet",
    remembered: "Everything is saved to memory.",
    pending: (turns: number) =>
      plural(turns, {
        one: "# turn is not saved to memory yet.",
        other: "# turns are not saved to memory yet.",
      }),
    fact: {
      added: (text: string) => `Added: ${text}`,
      deleted: (text: string) => `Deleted: ${text}`,
    },
    moreFacts: (count: number) => `${count} more. To search: \`/memory WORDS\``,
    noProjects: "There are no projects.",
    noSkills: "This session has no skills.",
    skillsWaiting: (count: number) =>
      `${count} more in the workspace need your decision: read and trust them on the page or in the terminal.`,
    noAgents: "This conversation has no agents to give tasks to.",
    agentsWaiting: (count: number) =>
      `${count} more in the workspace need your decision: read and trust them on the page or in the terminal.`,
    oneVersion: "There is only one version of each message.",
    showVersion: "`/alternatives 1` shows the first.",
    noFacts: "No saved facts match.",
    usage: (today: string, all: string) => `Tokens today: ${today}. Total: ${all}.`,
    queued: (count: number) => plural(count, { one: "# queued.", other: "# queued." }),
    questions: (count: number) =>
      plural(count, { one: "# open question.", other: "# open questions." }),
    noSchedules: "No schedules yet.",
    noProcesses: "No background processes.",
    nothingQueued: "Nothing is queued.",
    noHits: (words: string) => `No matches for “${words}”.`,
    hits: (count: number, words: string) =>
      `${plural(count, { one: "# match", other: "# matches" })} for “${words}”. Open the page to read them.`,
    untitled: "Untitled",
  },
  runStates: {
    queued: "queued",
    claimed: "answering",
    running: "answering",
    waiting: "needs your approval",
    paused: "paused, /resume continues",
    completed: "idle",
    cancelled: "last answer stopped",
    failed: "last answer failed",
    interrupted: "last answer interrupted",
    limit: "last answer stopped by a limit",
  },
  approval: {
    once: "Allow once",
    session: "Allow for this session",
    deny: "Deny",
    outcomes: {
      once: "✔ Allowed once",
      session: "✔ Allowed for this session",
      always: "✔ Always allowed",
      deny: "✘ Denied",
      expired: "✘ Not answered in time",
    },
    obsolete: "✘ No longer needed",
    skipped: "✘ Skipped",
    elsewhere: "This cannot be answered here. Allow or deny it on the page or in the terminal.",
    review: "Read all of it on the page or in the terminal, and allow it there.",
    wantsToRun: (tool: string, why: string) => `**${tool}** wants to run${why}:`,
    after: (sources: string) => `, after reading ${sources}`,
    more: (characters: number, hint: string) =>
      `${plural(characters, { one: "# more character.", other: "# more characters." })} ${hint}`,
    loads: (path: string, hash: string) => `[loads ${path}, ${hash}]`,
    missing: "missing",
    notTheirs: "Only the person who was asked can answer this.",
    notAnAnswer: "That is not one of the answers.",
    gone: "This question is no longer open.",
  },
  question: { write: "Tap an answer, or write your own.", skip: "Skip" },
  plan: {
    title: (why: string) => `📋 **Plan**${why}:`,
    hint: "Approve it, or write a comment.",
    elsewhere: "This cannot be approved here. Approve it on the page or in the terminal.",
    refuse: "Don't approve",
    review:
      "Read all of it on the page or in the terminal, and approve it there. You can write a comment here.",
    tooLong:
      "The plan is too long to show here in full, so it cannot be approved here. Approve it on the page or in the terminal.",
  },
} as const;
