import { sessionMode } from "./rights/session-mode.ts";

/** What may follow a command's name. */
export type CommandArgument =
  | { readonly kind: "nothing" }
  /** Everything after the name, as typed. */
  | { readonly kind: "words"; readonly label: string; readonly required: boolean }
  | {
      readonly kind: "count";
      readonly label: string;
      readonly most: number;
      /** Words that may stand with the number or alone. */
      readonly options?: readonly string[];
    }
  | {
      readonly kind: "choice";
      readonly label: string;
      readonly choices: readonly string[];
      /** The command usually stands alone, so nothing is completed before a letter is typed. */
      readonly usually?: "alone";
    };

/** What a surface can offer while an argument is typed, beyond fixed choices. */
export type CompletionSource = "session" | "model" | "command";

export interface CommandSpec {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly takes: CommandArgument;
  readonly completes?: CompletionSource;
  /** Whether it acts on the current session and so needs one. */
  readonly needs: "session" | "nothing";
  readonly help: string;
  readonly example: string;
}

const noArgument: CommandArgument = { kind: "nothing" };
const optionalText = (label: string): CommandArgument => ({
  kind: "words",
  label,
  required: false,
});
const requiredText = (label: string): CommandArgument => ({ kind: "words", label, required: true });

function define<const N extends string>(
  name: N,
  takes: CommandArgument,
  help: string,
  rest: Partial<Omit<CommandSpec, "name" | "takes" | "help">> = {},
): CommandSpec & { readonly name: N } {
  return { aliases: [], needs: "session", example: `/${name}`, ...rest, name, takes, help };
}

/** With the conversation, or without it. */
const fileOptions = ["files", "files only"] as const;

/** Every command of every surface. A name may be added, but never get another meaning. */
export const commands = [
  define("help", optionalText("command"), "List the commands, or explain one.", {
    aliases: ["commands"],
    needs: "nothing",
    completes: "command",
    example: "/help undo",
  }),
  define("new", optionalText("title"), "Start a new session. The current one is kept.", {
    aliases: ["clear", "reset"],
    needs: "nothing",
    example: "/new Garden plans",
  }),
  define("sessions", optionalText("words"), "List recent sessions, or those that match.", {
    aliases: ["list"],
    needs: "nothing",
    example: "/sessions garden",
  }),
  define(
    "resume",
    optionalText("session"),
    "Open another session by its id or title. Alone: continue an interrupted answer.",
    {
      aliases: ["continue", "open"],
      needs: "nothing",
      completes: "session",
      example: "/resume garden plans",
    },
  ),
  define(
    "undo",
    { kind: "count", label: "turns", most: 1000, options: fileOptions },
    "Undo the last turns. Nothing is deleted: /redo brings them back. Add files to restore their files too, or files only to restore just the files.",
    { aliases: ["rewind"], example: "/undo 2 files" },
  ),
  define(
    "redo",
    { kind: "choice", label: "files", choices: fileOptions, usually: "alone" },
    "Bring back what was undone. Add files to include the files, or files only for just the files.",
    { example: "/redo files" },
  ),
  define("retry", noArgument, "Retry the last message."),
  define("edit", requiredText("new words"), "Edit the last message and send it again.", {
    example: "/edit Say it in one sentence.",
  }),
  define(
    "alternatives",
    { kind: "count", label: "number", most: 1000, options: ["files"] },
    "List the versions of edited and retried messages, or show the one with this number. Add files to restore its files too.",
    { aliases: ["alternative", "versions"], example: "/alternatives 1" },
  ),
  define("branch", optionalText("title"), "Continue from here in a new session.", {
    aliases: ["fork"],
    example: "/branch Another way",
  }),
  define("title", optionalText("title"), "Show or change the session's title.", {
    aliases: ["rename"],
    example: "/title Garden plans",
  }),
  define(
    "compact",
    optionalText("focus"),
    "Summarise earlier messages for the model, to make room. You still see all of them.",
    { aliases: ["compress"], example: "/compact keep the addresses" },
  ),
  define("model", optionalText("model"), "Show or change the model of this session.", {
    aliases: ["models"],
    completes: "model",
    example: "/model rehearsal",
  }),
  define(
    "mode",
    { kind: "choice", label: "mode", choices: sessionMode.options },
    "Show or change what runs without asking: plan only reads, ask asks first, edits changes files, full also runs commands in the sandbox.",
    { example: "/mode plan" },
  ),
  define(
    "persona",
    optionalText("name"),
    "Show the personas, or change this session's persona. It applies from the next answer on.",
    { aliases: ["personas"], example: "/persona Editor" },
  ),
  define(
    "project",
    optionalText("name"),
    "Show the projects, or move this session to one. /project none takes it out of its project.",
    { aliases: ["projects"], example: "/project Tides" },
  ),
  define(
    "skill",
    optionalText("name and task"),
    "List the skills of this session, or use one. /NAME also uses one, if no command has that name.",
    { aliases: ["skills"], example: "/skill deploy to staging" },
  ),
  define("agents", noArgument, "List the agents that this session can give tasks to."),
  define(
    "memory",
    optionalText("words"),
    "Show what is remembered about you, or search it. /memory add TEXT adds a fact, /memory forget WORDS deletes one.",
    { needs: "nothing", example: "/memory tea" },
  ),
  define("usage", noArgument, "Show tokens and cost: this session, today and in total.", {
    aliases: ["cost"],
    needs: "nothing",
  }),
  define(
    "limit",
    optionalText("what and dollars"),
    "Show the spending limits, or change one: /limit session 5, /limit day 20, /limit run none.",
    { aliases: ["limits"], needs: "nothing", example: "/limit session 5" },
  ),
  define("schedule", noArgument, "List the scheduled prompts.", {
    aliases: ["schedules"],
    needs: "nothing",
  }),
  define(
    "processes",
    optionalText("process"),
    "List background processes, or stop one by its id.",
    { aliases: ["background"], example: "/processes 7k2x" },
  ),
  define("status", noArgument, "Show the session's state: its run, the queue and open approvals.", {
    aliases: ["info"],
  }),
  define("stop", noArgument, "Stop the current answer. What was written is kept.", {
    aliases: ["cancel"],
  }),
  define(
    "giveup",
    noArgument,
    "Stop waiting for an answer whose host is gone, or for a memory provider.",
    { aliases: ["stop-waiting"] },
  ),
  define(
    "queue",
    optionalText("message"),
    "Send a message after the current answer, or show the queue.",
    {
      example: "/queue And then the summary, please.",
    },
  ),
  define("steer", requiredText("message"), "Tell the model something while it works.", {
    example: "/steer Only the first ten.",
  }),
  define(
    "export",
    { kind: "choice", label: "format", choices: ["md", "json", "html"] },
    "Export the session as a document.",
    { example: "/export md" },
  ),
  define("search", requiredText("words"), "Search all sessions.", {
    aliases: ["find"],
    needs: "nothing",
    example: "/search tomatoes",
  }),
] as const;

export type CommandName = (typeof commands)[number]["name"];

const byName = new Map<string, (typeof commands)[number]>();
for (const command of commands)
  for (const name of [command.name, ...command.aliases]) byName.set(name, command);

/** By its name or an alias, in any case. */
export function findCommand(name: string): (typeof commands)[number] | undefined {
  return byName.get(name.toLowerCase());
}

/** Every name that leads to a command. */
export const commandNames: readonly string[] = [...byName.keys()];

/** `/undo [turns]`, as a person types it. */
export function commandUsage({ name, takes }: Pick<CommandSpec, "name" | "takes">): string {
  switch (takes.kind) {
    case "nothing":
      return `/${name}`;
    case "words":
      return takes.required ? `/${name} <${takes.label}>` : `/${name} [${takes.label}]`;
    case "count": {
      const options = takes.options === undefined ? "" : ` [${takes.options.join("|")}]`;
      return `/${name} [${takes.label}]${options}`;
    }
    case "choice":
      return `/${name} [${takes.choices.join("|")}]`;
  }
}
