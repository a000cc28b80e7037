import { sessionMode } from "./rights/session-mode.ts";

/** What may follow a command's name. */
export type CommandArgument =
  | { readonly kind: "nothing" }
  /** Everything after the name, as typed. */
  | { readonly kind: "words"; readonly label: string; readonly required: boolean }
  | { readonly kind: "count"; readonly label: string; readonly most: number }
  | { readonly kind: "choice"; readonly label: string; readonly choices: readonly string[] };

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

/** Every command of every surface. A name may be added, but never get another meaning. */
export const commands = [
  define("help", optionalText("command"), "What there is, or how one command works.", {
    aliases: ["commands"],
    needs: "nothing",
    completes: "command",
    example: "/help undo",
  }),
  define("new", optionalText("title"), "Begin a new session. The one you leave stays as it is.", {
    aliases: ["reset"],
    needs: "nothing",
    example: "/new Garden plans",
  }),
  define(
    "sessions",
    optionalText("words"),
    "The newest sessions, or those that hold these words.",
    {
      aliases: ["list"],
      needs: "nothing",
      example: "/sessions garden",
    },
  ),
  define(
    "resume",
    optionalText("session"),
    "Go to another session, by its id, the end of it, or words of its title. Alone: go on with an answer that was broken off.",
    {
      aliases: ["continue", "open"],
      needs: "nothing",
      completes: "session",
      example: "/resume garden plans",
    },
  ),
  define(
    "undo",
    { kind: "count", label: "turns", most: 1000 },
    "Take the last turns out of view. Nothing is deleted: /redo brings them back.",
    { example: "/undo 2" },
  ),
  define("redo", noArgument, "Bring back what was cut last."),
  define("retry", noArgument, "Ask the last message again."),
  define("edit", requiredText("new words"), "Ask the last message again in other words.", {
    example: "/edit Say it in one sentence.",
  }),
  define("branch", optionalText("title"), "Go on from here in a session of its own.", {
    aliases: ["fork"],
    example: "/branch Another way",
  }),
  define("title", optionalText("title"), "The session's title, or a new one for it.", {
    aliases: ["rename"],
    example: "/title Garden plans",
  }),
  define(
    "compact",
    optionalText("focus"),
    "Put a summary in the place of what came before, to make room. What you see stays.",
    { aliases: ["compress"], example: "/compact keep the addresses" },
  ),
  define(
    "model",
    optionalText("model"),
    "The model that answers here, or another one for this session.",
    {
      completes: "model",
      example: "/model rehearsal",
    },
  ),
  define(
    "mode",
    { kind: "choice", label: "mode", choices: sessionMode.options },
    "What runs here without asking, or another mode: plan only reads, ask asks, edits changes files, full also runs commands in the sandbox.",
    { example: "/mode plan" },
  ),
  define("memory", noArgument, "What still waits to be remembered.", { needs: "nothing" }),
  define("usage", noArgument, "Tokens and cost of this session, of today and of everything.", {
    aliases: ["cost"],
    needs: "nothing",
  }),
  define("schedule", noArgument, "Prompts that are said by themselves, and when.", {
    aliases: ["schedules"],
    needs: "nothing",
  }),
  define(
    "processes",
    optionalText("process"),
    "What this session runs in the background. With the id of one, or the end of it: stop that one.",
    { aliases: ["background"], example: "/processes 7k2x" },
  ),
  define("status", noArgument, "How the session stands: its run, what waits, what asks for you.", {
    aliases: ["info"],
  }),
  define("stop", noArgument, "End the answer that is being written. What was said stays.", {
    aliases: ["cancel"],
  }),
  define(
    "giveup",
    noArgument,
    "Stop waiting for the rest of an answer whose host is gone, or for a memory provider that is.",
    { aliases: ["stop-waiting"] },
  ),
  define(
    "queue",
    optionalText("message"),
    "Send a message for after the answer, or see what waits.",
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
    "The session as a document.",
    { example: "/export md" },
  ),
  define("search", requiredText("words"), "Find words in every session.", {
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
    case "count":
      return `/${name} [${takes.label}]`;
    case "choice":
      return `/${name} [${takes.choices.join("|")}]`;
  }
}
